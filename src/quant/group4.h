#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Group4: 32 weights of GPTQ or AWQ in 4 bits, unchanged; weight i = scale * (nibble - zero).
// bytes 0-1 scale (f16) | 2-3 zero (f16, an integer from 0 to 16) | 4-19: low nibbles = weights 0-15, high nibbles =
// 16-31
struct BlockGroup4 {
  uint16_t scale;
  uint16_t zero;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockGroup4) == 20, "on-disk layout");

void decode_group4(const std::byte* blocks, float* weights, int64_t count);
void encode_group4(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
