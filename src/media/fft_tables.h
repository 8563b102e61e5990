#pragma once

#include <array>
#include <vector>

#include "media/mel_filters.h"

namespace wick {

// A multiplication by cos + i sin.
struct Turn {
  float cos, sin;
};

// For the transform of 400 real numbers as 200 = 5 * 5 * 4 * 2 complex ones, computed in f64. A pass of radix r over n
// points multiplies output k of group g by e^(-2 pi i g k / n): [n / r][r - 1].
struct FftTables {
  std::vector<Turn> first, second, third, fourth;
  std::array<Turn, kMelSpectrum> real;  // e^(-2 pi i k / 400)
  std::array<float, kMelWindow> hann;   // periodic
};
const FftTables& fft_tables();

}  // namespace wick
