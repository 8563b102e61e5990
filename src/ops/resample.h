#pragma once

#include <vector>

#include "base/function_ref.h"
#include "ops/conv_options.h"

namespace wick {

// For the upsampling ops. What each of `count` output rows (or columns) is made of: `taps` input rows and weights.
struct ResampleTaps {
  int64_t taps = 1;
  std::vector<int64_t> index;  // [count, taps], in range
  std::vector<double> weight;  // [count, taps]
};

// Where output row `row` of `out` lies among `in` input rows: corners on corners, or pixel areas on pixel areas.
double resample_position(int64_t row, int64_t in, int64_t out, bool align_corners);

// Resizes x [batch, channels, h, w] with the taps that make_taps(in, out) gives for rows and for columns.
// Throws Error naming the op and the facts.
Tensor resample(const char* op, const Tensor& x, Pair2d size, FunctionRef<ResampleTaps(int64_t, int64_t)> make_taps);

}  // namespace wick
