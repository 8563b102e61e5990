#include "server/api/model_answers.h"

namespace wick {

const Fields<ModelAnswer>& ModelAnswer::fields() {
  using R = ModelAnswer;
  static const Fields<R> fields =
      Fields<R>("Model", BodyUse::kResponse)
          .add("id", &R::id, "What requests call it.")
          .add("object", &R::object, "model")
          .add("created", &R::created, "Unix seconds of its file.")
          .add("owned_by", &R::owned_by, "wick")
          .add("status", &R::status, "unloaded, loading, ready or failed. An extension.")
          .add("progress", &R::progress, "While loading: 0 to 1. An extension.")
          .add("error", &R::error, "Why it failed. An extension.")
          .add("context", &R::context, "Tokens of one sequence. An extension.")
          .add("bytes", &R::bytes, "Weights and cache. An extension.")
          .add("task", &R::task,
               "transcription, speech, embeddings or classification, for models that do not talk. An extension.");
  return fields;
}

const Fields<ModelListAnswer>& ModelListAnswer::fields() {
  using R = ModelListAnswer;
  static const Fields<R> fields =
      Fields<R>("ModelList", BodyUse::kResponse).add("object", &R::object, "list").add("data", &R::data, "The models.");
  return fields;
}

ModelAnswer model_answer(const ModelStatus& status) {
  ModelAnswer answer;
  answer.id = status.name;
  answer.created = status.created;
  answer.status = to_string(status.state);
  if (status.state == ModelState::kLoading) answer.progress = status.progress;
  if (status.state == ModelState::kFailed) answer.error = status.error;
  if (status.state == ModelState::kReady) {
    answer.context = status.context;
    answer.bytes = status.bytes;
  }
  return answer;
}

const Fields<StatusAnswer>& StatusAnswer::fields() {
  using R = StatusAnswer;
  static const Fields<R> fields = Fields<R>("Status", BodyUse::kResponse)
                                      .add("status", &R::status, "ok, ready, loading, unloaded, failed or stopping.")
                                      .add("reason", &R::reason, "Why nothing can be answered yet.");
  return fields;
}

}  // namespace wick
