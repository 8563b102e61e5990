#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Floats of one byte; a block is one weight.
// E4M3: sign | 4 exponent bits (bias 7) | 3 mantissa bits; no infinities, 0x7f and 0xff are NaN; largest value 448.
// E5M2: sign | 5 exponent bits (bias 15) | 2 mantissa bits; infinities and NaN as in IEEE; largest value 57344.
// E8M0: 2^(byte - 127), 0xff is NaN; scales only, there is no zero and no sign.
float f8_e4m3_to_f32(uint8_t bits);
float f8_e5m2_to_f32(uint8_t bits);
float f8_e8m0_to_f32(uint8_t bits);
const float* f8_e4m3_values();  // [256]

// Round to nearest, ties to even; beyond the largest finite value they saturate, and what is not finite becomes 0.
// E8M0 picks the power of two that is nearest, the smallest one for zero and negative values.
uint8_t f32_to_f8_e4m3(float value);
uint8_t f32_to_f8_e5m2(float value);
uint8_t f32_to_f8_e8m0(float value);

void decode_f8_e4m3(const std::byte* blocks, float* weights, int64_t count);
void decode_f8_e5m2(const std::byte* blocks, float* weights, int64_t count);
void decode_f8_e8m0(const std::byte* blocks, float* weights, int64_t count);
// Every weight stands alone, so that the importance changes nothing.
void encode_f8_e4m3(const float* weights, std::byte* blocks, int64_t count, const float* importance);
void encode_f8_e5m2(const float* weights, std::byte* blocks, int64_t count, const float* importance);
void encode_f8_e8m0(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
