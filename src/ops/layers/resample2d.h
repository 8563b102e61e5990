#pragma once

#include <vector>

#include "base/function_ref.h"
#include "ops/layers/conv.h"

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

// x [batch, channels, h, w] resized to [batch, channels, size.h, size.w]: output pixel i repeats input pixel
// floor(i * in / out).
Tensor upsample_nearest2d(const Tensor& x, Pair2d size);
// To `scale` times the size.
Tensor upsample_nearest2d_by(const Tensor& x, Pair2d scale);

// x [batch, channels, h, w] resized to [batch, channels, size.h, size.w], each output pixel mixed from its two nearest
// rows and columns. Positions follow pixel centres, or put the corner pixels on each other with align_corners.
Tensor upsample_bilinear2d(const Tensor& x, Pair2d size, bool align_corners = false);

// x [batch, channels, h, w] resized to [batch, channels, size.h, size.w] by cubic convolution over 4 x 4 pixels
// (a = -0.75; pixels beyond the border repeat it). Positions follow pixel centres, or put the corner pixels on each
// other with align_corners.
Tensor upsample_bicubic2d(const Tensor& x, Pair2d size, bool align_corners = false);

}  // namespace wick
