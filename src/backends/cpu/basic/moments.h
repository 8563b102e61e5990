#pragma once

#include <algorithm>

#include "backends/cpu/basic/row_kernels.h"

namespace wick::cpu {

// The mean of `count` elements, as centre + rest, and the sum of squared distances from it.
template <typename T>
struct RowMoments {
  double count = 0;
  T centre = 0;
  double rest = 0, squares = 0;
  double mean() const { return static_cast<double>(centre) + rest; }
};

// Of a row: one pass around the mean of its first elements, and a second around the true mean where those were so far
// off that digits were lost.
template <typename T>
RowMoments<T> row_moments(const RowKernels<T>& kernels, const T* x, int64_t size) {
  const int64_t first = std::min<int64_t>(size, 64);
  RowMoments<T> result{static_cast<double>(size), kernels.sum(x, first) / static_cast<T>(first)};
  for (int pass = 0; pass < 2; ++pass) {
    double distances = 0, squares = 0;
    for (int64_t i = 0; i < size; i += kChunk) {
      T distance, square;
      kernels.moments(x + i, std::min(kChunk, size - i), result.centre, &distance, &square);
      distances += static_cast<double>(distance);
      squares += static_cast<double>(square);
    }
    result.rest = distances / result.count;
    const double off = distances * result.rest;  // what the wrong centre adds to the squares
    result.squares = std::max(0.0, squares - off);
    if (squares != squares) result.squares = squares;
    if (pass == 1 || !(off > result.squares)) break;
    result.centre = static_cast<T>(result.mean());
  }
  return result;
}

}  // namespace wick::cpu
