#include "engine/text/context.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace wick {

int64_t context_of(const TextModel& model, int64_t asked) {
  const int64_t most = model.model().facts().max_context;
  if (asked < 0) throw Error(ErrorCode::kInvalidArgument, cat("a context of ", asked, " tokens is asked for"));
  if (most > 0 && asked > most) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a context of ", asked, " tokens is asked for, ", model.name(), " has ", most));
  }
  if (asked > 0) return asked;
  return most > 0 ? std::min(most, kDefaultContext) : kDefaultContext;
}

std::span<const int32_t> check_prompt(const TextModel& model, std::span<const int32_t> prompt, int64_t context) {
  if (prompt.empty()) throw Error(ErrorCode::kInvalidArgument, "the prompt is empty");
  const int64_t vocabulary = model.model().facts().vocabulary;
  for (const int32_t token : prompt) {
    if (token < 0 || token >= vocabulary) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("token ", token, " of the prompt is outside the vocabulary of ", vocabulary));
    }
  }
  const auto length = static_cast<int64_t>(prompt.size());
  if (length > context) {
    throw Error(ErrorCode::kInvalidArgument, cat("the prompt has ", length, " tokens, the context ", context));
  }
  return prompt;
}

}  // namespace wick
