#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q8_K: 256 weights share one scale; weight i = q * scale.
// bytes 0-3 scale (f32) | 4-259 q (i8) | 260-291 sums of q over each 16 weights (i16)
#pragma pack(push, 2)
struct BlockQ8_K {
  float scale;
  int8_t quants[256];
  int16_t sums[16];
};
#pragma pack(pop)
static_assert(sizeof(BlockQ8_K) == 292, "on-disk layout");

void decode_q8_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q8_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
