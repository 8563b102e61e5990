#pragma once

#include <bit>
#include <cstdint>

namespace wick {

// The codebooks of the IQ1, IQ2 and IQ3 formats: byte j (little endian) of an entry belongs to weight j of its run.
extern const uint64_t kIq2xxsGrid[256];  // magnitudes 8, 25, 43
extern const uint64_t kIq2xsGrid[512];
extern const uint64_t kIq2sGrid[1024];
extern const uint32_t kIq3xxsGrid[256];  // magnitudes 4, 12, 20, 28, 36, 44, 52, 62
extern const uint32_t kIq3sGrid[512];    // magnitudes 1, 3, ..., 15
extern const uint64_t kIq1Grid[2048];    // signed bytes -1, 0, 1

inline constexpr float kIq1Shift = 0.125f;

// Seven stored signs as eight: the number of negative weights in a run of 8 is even, which gives the last one.
inline constexpr uint8_t expand_signs(uint32_t seven) {
  return static_cast<uint8_t>(seven | (static_cast<uint32_t>(std::popcount(seven)) & 1u) << 7);
}

}  // namespace wick
