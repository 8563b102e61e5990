#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace wick {

// Twice the values of E2M1 (1 sign, 2 exponent, 1 mantissa bit), so that they are whole.
inline constexpr int8_t kE2M1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// MXFP4: 32 weights of 4-bit floats (E2M1) share a power of two; weight i = kE2M1Doubled[nibble] * 2^(exponent - 128).
// byte 0 exponent (E8M0) | bytes 1-16: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockMXFP4 {
  uint8_t exponent;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockMXFP4) == 17, "on-disk layout");

// 2^(exponent - 128); the two smallest are subnormal.
inline float mxfp4_scale(uint8_t exponent) {
  return std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : static_cast<uint32_t>(exponent - 1) << 23);
}

void decode_mxfp4(const std::byte* blocks, float* weights, int64_t count);
void encode_mxfp4(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
