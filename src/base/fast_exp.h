#pragma once

#include <bit>
#include <cstdint>

namespace wick {

// e^x within one unit in the last place, without branches, so that compilers turn a loop of it into SIMD instructions.
// Below the smallest normal number it is 0, near the largest it is infinity already.
inline float fast_exp(float x) {
  constexpr float kRound = 12582912.f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  constexpr int32_t kInfinity = 0x7f800000;
  const float rounded = x * 1.44269504f + kRound;
  const float power = rounded - kRound;
  const float rest = (x - power * 0.693359375f) - power * -2.12194440e-4f;  // ln 2 in two parts
  float sum = 1.9875691500e-4f;
  sum = sum * rest + 1.3981999507e-3f;
  sum = sum * rest + 8.3334519073e-3f;
  sum = sum * rest + 4.1665795894e-2f;
  sum = sum * rest + 1.6666665459e-1f;
  sum = sum * rest + 5.0000001201e-1f;
  sum = sum * rest * rest + rest + 1;
  const uint32_t exponent = std::bit_cast<uint32_t>(rounded) - std::bit_cast<uint32_t>(kRound);
  const int32_t bits = std::bit_cast<int32_t>(sum * std::bit_cast<float>((exponent + 127) << 23));
  const int32_t keeps = -static_cast<int32_t>(!(x < -87.33654f)), overflows = -static_cast<int32_t>(x > 88.3762f);
  return std::bit_cast<float>((bits & keeps & ~overflows) | (overflows & kInfinity));
}

}  // namespace wick
