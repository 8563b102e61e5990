#pragma once

#include <cstdint>

namespace wick::cpu {

// Rotates the pairs of one vector; what lies behind them passes through.
template <typename T>
void rotate_pairs(const T* __restrict x, const T* __restrict cos, const T* __restrict sin, int64_t pairs,
                  bool interleaved, T* __restrict out) {
  if (interleaved) {
    for (int64_t i = 0; i < pairs; ++i) {
      const T a = x[2 * i], b = x[2 * i + 1];
      out[2 * i] = a * cos[i] - b * sin[i];
      out[2 * i + 1] = a * sin[i] + b * cos[i];
    }
  } else {
    for (int64_t i = 0; i < pairs; ++i) out[i] = x[i] * cos[i] - x[i + pairs] * sin[i];
    for (int64_t i = 0; i < pairs; ++i) out[i + pairs] = x[i] * sin[i] + x[i + pairs] * cos[i];
  }
}

}  // namespace wick::cpu
