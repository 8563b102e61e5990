#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q5_0: 32 weights share one scale; weight i = (q - 16) * scale, q = nibble + 16 * high bit.
// bytes 0-1 scale (f16) | 2-5 high bits, bit i of the little-endian word = weight i
// bytes 6-21: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ5_0 {
  uint16_t scale;
  uint8_t high_bits[4];
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ5_0) == 22, "on-disk layout");

void decode_q5_0(const std::byte* blocks, float* weights, int64_t count);
void encode_q5_0(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
