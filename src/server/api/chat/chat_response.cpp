#include "server/api/chat/chat_response.h"

namespace wick {
namespace {

constexpr char kFinishReasonDoc[] = "stop, length (also: the context is full, or the time is up) or tool_calls.";
constexpr char kFingerprintDoc[] = "Changes with the version of Wick and with the model.";

}  // namespace

const Fields<FunctionCallAnswer>& FunctionCallAnswer::fields() {
  using R = FunctionCallAnswer;
  static const Fields<R> fields = Fields<R>("FunctionCallAnswer", BodyUse::kResponse)
                                      .add("name", &R::name, "Which function; in a chunk: with the first part only.")
                                      .add("arguments", &R::arguments, "JSON text of an object; in a chunk: a part.");
  return fields;
}

const Fields<ToolCallAnswer>& ToolCallAnswer::fields() {
  using R = ToolCallAnswer;
  static const Fields<R> fields = Fields<R>("ToolCallAnswer", BodyUse::kResponse)
                                      .add("index", &R::index, "In a chunk: which call.")
                                      .add("id", &R::id, "What the tool's answer refers to.")
                                      .add("type", &R::type, "function")
                                      .add("function", &R::function, "The call.");
  return fields;
}

const Fields<ChatAnswerMessage>& ChatAnswerMessage::fields() {
  using R = ChatAnswerMessage;
  static const Fields<R> fields = Fields<R>("ChatAnswerMessage", BodyUse::kResponse)
                                      .add("role", &R::role, "assistant")
                                      .add("content", &R::content, "The answer; null beside tool calls.")
                                      .nullable()
                                      .add("refusal", &R::refusal, "Always null.")
                                      .nullable()
                                      .add("reasoning_content", &R::reasoning_content, "What the model thought.")
                                      .add("tool_calls", &R::tool_calls, "The calls it makes.");
  return fields;
}

const Fields<ChatChoice>& ChatChoice::fields() {
  using R = ChatChoice;
  static const Fields<R> fields = Fields<R>("ChatChoice", BodyUse::kResponse)
                                      .add("index", &R::index, "")
                                      .add("message", &R::message, "")
                                      .add("logprobs", &R::logprobs, "When asked for.")
                                      .nullable()
                                      .add("finish_reason", &R::finish_reason, kFinishReasonDoc);
  return fields;
}

const Fields<ChatCompletion>& ChatCompletion::fields() {
  using R = ChatCompletion;
  static const Fields<R> fields = Fields<R>("ChatCompletion", BodyUse::kResponse)
                                      .add("id", &R::id, "")
                                      .add("object", &R::object, "chat.completion")
                                      .add("created", &R::created, "Unix seconds.")
                                      .add("model", &R::model, "Which one answered.")
                                      .add("system_fingerprint", &R::system_fingerprint, kFingerprintDoc)
                                      .add("choices", &R::choices, "The answers.")
                                      .add("usage", &R::usage, "")
                                      .add("wick", &R::wick, kWickDoc);
  return fields;
}

const Fields<ChatDelta>& ChatDelta::fields() {
  using R = ChatDelta;
  static const Fields<R> fields = Fields<R>("ChatDelta", BodyUse::kResponse)
                                      .add("role", &R::role, "With the first chunk.")
                                      .add("content", &R::content, "More of the answer.")
                                      .add("reasoning_content", &R::reasoning_content, "More of what it thinks.")
                                      .add("tool_calls", &R::tool_calls, "More of the calls.");
  return fields;
}

const Fields<ChatChunkChoice>& ChatChunkChoice::fields() {
  using R = ChatChunkChoice;
  static const Fields<R> fields = Fields<R>("ChatChunkChoice", BodyUse::kResponse)
                                      .add("index", &R::index, "")
                                      .add("delta", &R::delta, "What has been added.")
                                      .add("logprobs", &R::logprobs, "When asked for.")
                                      .nullable()
                                      .add("finish_reason", &R::finish_reason, kFinishReasonDoc)
                                      .nullable();
  return fields;
}

const Fields<ChatChunk>& ChatChunk::fields() {
  using R = ChatChunk;
  static const Fields<R> fields = Fields<R>("ChatChunk", BodyUse::kResponse)
                                      .add("id", &R::id, "The same in all chunks.")
                                      .add("object", &R::object, "chat.completion.chunk")
                                      .add("created", &R::created, "Unix seconds.")
                                      .add("model", &R::model, "Which one answers.")
                                      .add("system_fingerprint", &R::system_fingerprint, kFingerprintDoc)
                                      .add("choices", &R::choices, "One, or none in the last chunk with usage.")
                                      .add("usage", &R::usage, "With stream_options.include_usage: null but at last.")
                                      .add("timings", &R::timings, "Beside the usage, for one choice. An extension.")
                                      .add("wick", &R::wick, kWickDoc);
  return fields;
}

}  // namespace wick
