#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Group8: 32 weights of GPTQ in 8 bits, unchanged; weight i = scale * (q - zero).
// bytes 0-1 scale (f16) | 2-3 zero (f16, an integer from 0 to 256) | 4-35: q of weights 0-31 (u8)
struct BlockGroup8 {
  uint16_t scale;
  uint16_t zero;
  uint8_t quants[32];
};
static_assert(sizeof(BlockGroup8) == 36, "on-disk layout");

void decode_group8(const std::byte* blocks, float* weights, int64_t count);
void encode_group8(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
