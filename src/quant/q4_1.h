#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q4_1: 32 weights; weight i = nibble * scale + min.
// bytes 0-1 scale (f16) | 2-3 min (f16) | 4-19: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ4_1 {
  uint16_t scale;
  uint16_t min;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ4_1) == 20, "on-disk layout");

void decode_q4_1(const std::byte* blocks, float* weights, int64_t count);
void encode_q4_1(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
