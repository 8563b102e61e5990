#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q4_0: 32 weights share one scale; weight i = (nibble - 8) * scale.
// bytes 0-1 scale (f16) | bytes 2-17: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ4_0 {
  uint16_t scale;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ4_0) == 18, "on-disk layout");

void decode_q4_0(const std::byte* blocks, float* weights, int64_t count);
void encode_q4_0(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
