#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q2_K: 256 weights in 16 groups of 16; weight = q * scale * group_scale - min_scale * group_min, q in 0..3.
// bytes 0-15: one per group, low nibble = group_scale, high nibble = group_min
// bytes 16-79: q. Each half of 128 weights has 32 bytes; bits 2s, 2s+1 of byte b hold its weight 32 s + b
// bytes 80-81 scale (f16) | 82-83 min_scale (f16)
struct BlockQ2_K {
  uint8_t group_scales[16];
  uint8_t quants[64];
  uint16_t scale;
  uint16_t min_scale;
};
static_assert(sizeof(BlockQ2_K) == 84, "on-disk layout");

void decode_q2_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q2_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
