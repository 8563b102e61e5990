#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace wick {

// Eight weights of an IQ2 or IQ3 format: step * code, negative where the sign bit is set.
inline void write_signed_run(uint64_t codes, uint8_t signs, float step, float* out) {
  const auto magnitudes = std::bit_cast<std::array<uint8_t, 8>>(codes);
  for (uint32_t i = 0; i < 8; ++i) {
    const float value = step * static_cast<float>(magnitudes[i]);
    out[i] = signs >> i & 1u ? -value : value;
  }
}

}  // namespace wick
