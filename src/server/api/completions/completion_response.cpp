#include "server/api/completions/completion_response.h"

namespace wick {

const Fields<CompletionChoice>& CompletionChoice::fields() {
  using R = CompletionChoice;
  static const Fields<R> fields = Fields<R>("CompletionChoice", BodyUse::kResponse)
                                      .add("text", &R::text, "What follows the prompt; in a chunk: more of it.")
                                      .add("index", &R::index, "All choices of the first prompt, then the next's.")
                                      .add("logprobs", &R::logprobs, "When asked for.")
                                      .nullable()
                                      .add("finish_reason", &R::finish_reason, "stop or length.")
                                      .nullable();
  return fields;
}

const Fields<Completion>& Completion::fields() {
  using R = Completion;
  static const Fields<R> fields =
      Fields<R>("Completion", BodyUse::kResponse)
          .add("id", &R::id, "")
          .add("object", &R::object, "text_completion")
          .add("created", &R::created, "Unix seconds.")
          .add("model", &R::model, "Which one answered.")
          .add("system_fingerprint", &R::system_fingerprint, "Changes with the version of Wick and with the model.")
          .add("choices", &R::choices, "The answers.")
          .add("usage", &R::usage, "In the last chunk, when asked for.")
          .add("wick", &R::wick, kWickDoc);
  return fields;
}

}  // namespace wick
