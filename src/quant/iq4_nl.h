#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// The 16 levels of IQ4_NL and IQ4_XS: denser near zero, where most weights lie.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// IQ4_NL: 32 weights share one scale; weight i = scale * kIq4Values[nibble].
// bytes 0-1 scale (f16) | bytes 2-17: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockIQ4_NL {
  uint16_t scale;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18, "on-disk layout");

void decode_iq4_nl(const std::byte* blocks, float* weights, int64_t count);
void encode_iq4_nl(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
