#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q3_K: 256 weights in 16 groups of 16; weight = (q - 4) * scale * (group_scale - 32), q = low pair + 4 * high bit.
// bytes 0-31 high bits: bit h of byte b = weight 32 h + b
// bytes 32-95 low pairs: each half of 128 weights has 32 bytes; bits 2s, 2s+1 of byte b hold its weight 32 s + b
// bytes 96-107 group scales of 6 bits: the low 4 bits of groups 0-7 and 8-15 are the low and high nibbles of the first
//   8 bytes; the high 2 bits of group g are bits 2 (g / 4) and up of byte 8 + g % 4
// bytes 108-109 scale (f16)
struct BlockQ3_K {
  uint8_t high_bits[32];
  uint8_t low_pairs[64];
  uint8_t group_scales[12];
  uint16_t scale;
};
static_assert(sizeof(BlockQ3_K) == 110, "on-disk layout");

void decode_q3_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q3_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
