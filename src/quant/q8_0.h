#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q8_0: 32 weights share one scale; weight i = q * scale.
// bytes 0-1 scale (f16) | bytes 2-33: q of weights 0-31 (i8)
struct BlockQ8_0 {
  uint16_t scale;
  int8_t quants[32];
};
static_assert(sizeof(BlockQ8_0) == 34, "on-disk layout");

void decode_q8_0(const std::byte* blocks, float* weights, int64_t count);
void encode_q8_0(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
