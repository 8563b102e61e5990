#include "engine/text/text_source.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "engine/request.h"
#include "engine/text/context.h"

namespace wick {

TextSource::TextSource(const TextModel& model, EngineRequest& request, DType dtype)
    : model_(model), dtype_(dtype == DType::kI8 ? DType::kF16 : dtype) {
  if (model.model().facts().source_positions == 0) return;
  tokens_ = std::exchange(request.prompt, model.start_tokens(request.begins_with));
}

void TextSource::check(const TextModel& model, const EngineRequest& request, int64_t context) {
  const auto bad = [](const std::string& what) { return Error(ErrorCode::kInvalidArgument, what); };
  const int64_t most = model.model().facts().source_positions;
  check_prompt(model, request.prompt, most > 0 ? most : context);
  if (most == 0) {
    if (!request.begins_with.empty()) {
      throw bad(
          cat(model.name(), " has no encoder: a text begins with the prompt, not with '", request.begins_with, "'"));
    }
    return;
  }
  if (!request.embeddings.empty()) throw bad(cat(model.name(), " has an encoder for texts, which takes no embeddings"));
  if (request.prompt_logprobs) {
    throw bad(cat("log-probabilities of the prompt are asked for, which ", model.name(), " reads with an encoder"));
  }
  if (std::ssize(model.start_tokens(request.begins_with)) > context) {
    throw bad(cat("the context is ", context, ", and a text begins with more tokens"));
  }
}

RecurrentState* TextSource::encoded() {
  if (tokens_.empty()) return nullptr;
  if (state_.empty()) state_ = model_.model().encode_source(tokens_, dtype_);
  return &state_;
}

}  // namespace wick
