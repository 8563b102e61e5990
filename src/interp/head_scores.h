#pragma once

#include <span>
#include <vector>

#include "interp/interp_model.h"

namespace wick {

// How much of its attention each head spends on one kind of token: f32 [layers, heads], 0 to 1, 0 in layers without
// attention.
struct HeadScores {
  Tensor previous;   // on the token before
  Tensor duplicate;  // on the same token when it came before
  Tensor induction;  // on the token behind the same token when it came before
};

// Means over the rows where there is such a token. Patterns are looked at while the text runs, not kept. `tokens` may
// be any text; repeated_tokens gives one in which nothing but repetition can be learned. Throws Error(kUnsupported) for
// models without attention.
HeadScores head_scores(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks = {});

// `length` different tokens drawn from [first, last), twice in a row; the same for the same seed. `begin` tokens come
// before them, for models that need one.
std::vector<int32_t> repeated_tokens(int32_t first, int32_t last, int64_t length, uint64_t seed,
                                     std::span<const int32_t> begin = {});

}  // namespace wick
