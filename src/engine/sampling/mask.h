#pragma once

#include <cstdint>
#include <span>

namespace wick::sampling {

// Sets the logit of each token whose bit is not set to -inf; bit i of word i/32, and none beyond the end.
void forbid_others(std::span<const uint32_t> allowed, std::span<float> logits);

}  // namespace wick::sampling
