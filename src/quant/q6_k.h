#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q6_K: 256 weights in 16 groups of 16; weight = (q - 32) * scale * group_scale, q = nibble + 16 * high pair.
// bytes 0-127 nibbles: each half of 128 weights has 64 bytes; low nibbles = its weights 0-63, high nibbles = 64-127
// bytes 128-191 high pairs: each half has 32 bytes; bits 2s, 2s+1 of byte b hold its weight 32 s + b
// bytes 192-207 group scales (i8) | 208-209 scale (f16)
struct BlockQ6_K {
  uint8_t nibbles[128];
  uint8_t high_pairs[64];
  int8_t group_scales[16];
  uint16_t scale;
};
static_assert(sizeof(BlockQ6_K) == 210, "on-disk layout");

void decode_q6_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q6_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
