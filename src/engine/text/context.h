#pragma once

#include <span>

#include "engine/text/text_model.h"

namespace wick {

inline constexpr int64_t kDefaultContext = 32768;  // tokens, where a model would take more

// The context asked for, or the model's own, at most kDefaultContext, for 0. Throws Error(kInvalidArgument) when the
// model has less.
int64_t context_of(const TextModel& model, int64_t asked);

// The prompt again. Throws Error(kInvalidArgument) when it is empty, longer than the context (with both numbers) or has
// tokens outside the vocabulary.
std::span<const int32_t> check_prompt(const TextModel& model, std::span<const int32_t> prompt, int64_t context);

}  // namespace wick
