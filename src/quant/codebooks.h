#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace wick {

// The codebooks of the IQ1, IQ2 and IQ3 formats: byte j (little endian) of an entry belongs to weight j of its run.
// Kernels for other devices copy them from here.
extern const std::array<uint64_t, 256> kIq2xxsGrid;  // magnitudes 8, 25, 43
extern const std::array<uint64_t, 512> kIq2xsGrid;
extern const std::array<uint64_t, 1024> kIq2sGrid;
extern const std::array<uint32_t, 256> kIq3xxsGrid;  // magnitudes 4, 12, 20, 28, 36, 44, 52, 62
extern const std::array<uint32_t, 512> kIq3sGrid;    // magnitudes 1, 3, ..., 15
extern const std::array<uint64_t, 2048> kIq1Grid;    // signed bytes -1, 0, 1

inline constexpr float kIq1Shift = 0.125f;

// Seven stored signs as eight: the number of negative weights in a run of 8 is even, which gives the last one.
inline constexpr uint8_t expand_signs(uint32_t seven) {
  return static_cast<uint8_t>(seven | (static_cast<uint32_t>(std::popcount(seven)) & 1u) << 7);
}

// expand_signs of every value.
inline constexpr std::array<uint8_t, 128> kEightSigns = [] {
  std::array<uint8_t, 128> signs{};
  for (uint32_t i = 0; i < signs.size(); ++i) signs[i] = expand_signs(i);
  return signs;
}();

}  // namespace wick
