#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q4_K: 256 weights in 8 groups of 32; weight = q * scale * group_scale - min_scale * group_min, q in 0..15.
// bytes 0-1 scale (f16) | 2-3 min_scale (f16) | 4-15 group scales and mins, 6 bits each (quant/group_scales.h)
// bytes 16-143: 32 bytes for each pair of groups; low nibbles = the even group, high nibbles = the odd one
struct BlockQ4_K {
  uint16_t scale;
  uint16_t min_scale;
  uint8_t group_scales[12];
  uint8_t nibbles[128];
};
static_assert(sizeof(BlockQ4_K) == 144, "on-disk layout");

void decode_q4_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q4_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
