#include "media/fft_tables.h"

#include <cmath>
#include <numbers>

namespace wick {
namespace {

Turn turn_by(int part, int whole) {
  const double angle = -2 * std::numbers::pi * part / whole;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

std::vector<Turn> turns_of(int length, int radix) {
  std::vector<Turn> turns;
  for (int group = 0; group < length / radix; ++group) {
    for (int k = 1; k < radix; ++k) turns.push_back(turn_by(group * k, length));
  }
  return turns;
}

FftTables make_tables() {
  FftTables tables{turns_of(200, 5), turns_of(40, 5), turns_of(8, 4), turns_of(2, 2), {}, {}};
  for (int k = 0; k < kMelSpectrum; ++k) tables.real[static_cast<size_t>(k)] = turn_by(k, kMelWindow);
  for (int i = 0; i < kMelWindow; ++i) {
    tables.hann[static_cast<size_t>(i)] =
        static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / kMelWindow));
  }
  return tables;
}

}  // namespace

const FftTables& fft_tables() {
  static const FftTables tables = make_tables();
  return tables;
}

}  // namespace wick
