#include "quant/float8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace wick {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Rounds to kMantissa bits with the smallest normal value 2^kMinExponent; the caller has clamped |value|.
template <int kMantissa, int kMinExponent>
uint8_t round_to_float8(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 31 << 7;
  const float magnitude = std::bit_cast<float>(bits & 0x7fffffffu);
  constexpr int kDropped = 23 - kMantissa;
  constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(kMinExponent + 127) << 23;
  // Adding this constant lines the last kept bit of a subnormal up with the bottom of the mantissa; the FPU rounds.
  constexpr uint32_t kAligner = static_cast<uint32_t>(kMinExponent + 127 + kDropped) << 23;
  const uint32_t subnormal = std::bit_cast<uint32_t>(magnitude + std::bit_cast<float>(kAligner)) - kAligner;
  const uint32_t whole = bits & 0x7fffffffu;
  const uint32_t rounded = whole + ((1u << (kDropped - 1)) - 1) + (whole >> kDropped & 1u);
  const uint32_t normal = (rounded >> kDropped) - ((kSmallestNormal >> kDropped) - (1u << kMantissa));
  return static_cast<uint8_t>(sign | (whole < kSmallestNormal ? subnormal : normal));
}

float finite_within(float value, float limit) { return std::isfinite(value) ? std::clamp(value, -limit, limit) : 0.0f; }

template <float (*kConvert)(uint8_t)>
const float* values_of_bytes() {
  static const auto table = [] {
    struct Table {
      float values[256];
    } filled;
    for (int i = 0; i < 256; ++i) filled.values[i] = kConvert(static_cast<uint8_t>(i));
    return filled;
  }();
  return table.values;
}

template <float (*kConvert)(uint8_t)>
void decode(const std::byte* blocks, float* weights, int64_t count) {
  const float* values = values_of_bytes<kConvert>();
  for (int64_t i = 0; i < count; ++i) weights[i] = values[static_cast<uint8_t>(blocks[i])];
}

template <uint8_t (*kConvert)(float)>
void encode(const float* weights, std::byte* blocks, int64_t count) {
  for (int64_t i = 0; i < count; ++i) blocks[i] = std::byte{kConvert(weights[i])};
}

}  // namespace

float f8_e4m3_to_f32(uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const auto mantissa = static_cast<float>(bits & 7);
  if ((bits & 0x7f) == 0x7f) return bits & 0x80 ? -kNan : kNan;
  const float magnitude = exponent == 0 ? mantissa * 0x1p-9f : std::ldexp(8 + mantissa, exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

float f8_e5m2_to_f32(uint8_t bits) {
  const int exponent = bits >> 2 & 31;
  const auto mantissa = static_cast<float>(bits & 3);
  float magnitude = exponent == 0 ? mantissa * 0x1p-16f : std::ldexp(4 + mantissa, exponent - 17);
  if (exponent == 31) magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity() : kNan;
  return bits & 0x80 ? -magnitude : magnitude;
}

const float* f8_e4m3_values() { return values_of_bytes<f8_e4m3_to_f32>(); }

float f8_e8m0_to_f32(uint8_t bits) { return bits == 0xff ? kNan : std::ldexp(1.0f, bits - 127); }

uint8_t f32_to_f8_e4m3(float value) { return round_to_float8<3, -6>(finite_within(value, 448.0f)); }
uint8_t f32_to_f8_e5m2(float value) { return round_to_float8<2, -14>(finite_within(value, 57344.0f)); }

uint8_t f32_to_f8_e8m0(float value) {
  if (!std::isfinite(value) || value < 0x1p-127f) return 0;
  int exponent;
  const float fraction = std::frexp(value, &exponent);  // in [0.5, 1): nearer to 1 from 0.75 on
  return static_cast<uint8_t>(std::min(exponent - (fraction < 0.75f ? 1 : 0) + 127, 254));
}

void decode_f8_e4m3(const std::byte* blocks, float* weights, int64_t count) {
  decode<f8_e4m3_to_f32>(blocks, weights, count);
}
void decode_f8_e5m2(const std::byte* blocks, float* weights, int64_t count) {
  decode<f8_e5m2_to_f32>(blocks, weights, count);
}
void decode_f8_e8m0(const std::byte* blocks, float* weights, int64_t count) {
  decode<f8_e8m0_to_f32>(blocks, weights, count);
}
void encode_f8_e4m3(const float* weights, std::byte* blocks, int64_t count, const float*) {
  encode<f32_to_f8_e4m3>(weights, blocks, count);
}
void encode_f8_e5m2(const float* weights, std::byte* blocks, int64_t count, const float*) {
  encode<f32_to_f8_e5m2>(weights, blocks, count);
}
void encode_f8_e8m0(const float* weights, std::byte* blocks, int64_t count, const float*) {
  encode<f32_to_f8_e8m0>(weights, blocks, count);
}

}  // namespace wick
