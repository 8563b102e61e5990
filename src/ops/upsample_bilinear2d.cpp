#include "ops/upsample_bilinear2d.h"

#include <algorithm>

#include "ops/resample.h"

namespace wick {

namespace {

ResampleTaps linear_taps(int64_t in, int64_t out, bool align_corners) {
  ResampleTaps taps;
  taps.taps = 2;
  for (int64_t i = 0; i < out; ++i) {
    const double position = std::max(0.0, resample_position(i, in, out, align_corners));
    const int64_t first = std::min(static_cast<int64_t>(position), in - 1);
    const double share = std::min(position - static_cast<double>(first), 1.0);
    taps.index.insert(taps.index.end(), {first, std::min(first + 1, in - 1)});
    taps.weight.insert(taps.weight.end(), {1 - share, share});
  }
  return taps;
}

}  // namespace

Tensor upsample_bilinear2d(const Tensor& x, Pair2d size, bool align_corners) {
  return resample("upsample_bilinear2d", x, size,
                  [&](int64_t in, int64_t out) { return linear_taps(in, out, align_corners); });
}

}  // namespace wick
