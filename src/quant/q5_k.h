#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q5_K: 256 weights in 8 groups of 32; weight = q * scale * group_scale - min_scale * group_min,
// q = nibble + 16 * high bit.
// bytes 0-1 scale (f16) | 2-3 min_scale (f16) | 4-15 group scales and mins, 6 bits each (quant/group_scales.h)
// bytes 16-47 high bits: bit g of byte b = weight b of group g
// bytes 48-175: 32 bytes for each pair of groups; low nibbles = the even group, high nibbles = the odd one
struct BlockQ5_K {
  uint16_t scale;
  uint16_t min_scale;
  uint8_t group_scales[12];
  uint8_t high_bits[32];
  uint8_t nibbles[128];
};
static_assert(sizeof(BlockQ5_K) == 176, "on-disk layout");

void decode_q5_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q5_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
