#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace wick {

// Eight weights of an IQ2 or IQ3 format: step * code, negative where the sign bit is set.
inline void write_signed_run(uint64_t codes, uint8_t signs, float step, float* out) {
  constexpr uint32_t kBit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  const auto magnitudes = std::bit_cast<std::array<uint8_t, 8>>(codes);
  for (int i = 0; i < 8; ++i) {
    const uint32_t sign_bit = (signs & kBit[i]) != 0 ? 0x80000000u : 0u;
    const float value = step * static_cast<float>(magnitudes[static_cast<size_t>(i)]);
    out[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ sign_bit);
  }
}

}  // namespace wick
