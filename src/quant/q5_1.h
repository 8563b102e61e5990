#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q5_1: 32 weights; weight i = q * scale + min, q = nibble + 16 * high bit.
// bytes 0-1 scale (f16) | 2-3 min (f16) | 4-7 high bits, bit i of the little-endian word = weight i
// bytes 8-23: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ5_1 {
  uint16_t scale;
  uint16_t min;
  uint8_t high_bits[4];
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ5_1) == 24, "on-disk layout");

void decode_q5_1(const std::byte* blocks, float* weights, int64_t count);
void encode_q5_1(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
