#include "ops/upsample_bicubic2d.h"

#include <algorithm>
#include <cmath>

#include "ops/resample.h"

namespace wick {

namespace {

constexpr double kCubicA = -0.75;

// Keys' cubic convolution kernel at a distance of 0 to 2 pixels.
double cubic_weight(double x) {
  if (x <= 1) return ((kCubicA + 2) * x - (kCubicA + 3)) * x * x + 1;
  return ((kCubicA * x - 5 * kCubicA) * x + 8 * kCubicA) * x - 4 * kCubicA;
}

ResampleTaps cubic_taps(int64_t in, int64_t out, bool align_corners) {
  ResampleTaps taps;
  taps.taps = 4;
  for (int64_t i = 0; i < out; ++i) {
    const double position = resample_position(i, in, out, align_corners);
    const double floor = std::floor(position), share = position - floor;
    for (int64_t t = -1; t <= 2; ++t) {
      taps.index.push_back(std::clamp<int64_t>(static_cast<int64_t>(floor) + t, 0, in - 1));
      taps.weight.push_back(cubic_weight(std::abs(share - static_cast<double>(t))));
    }
  }
  return taps;
}

}  // namespace

Tensor upsample_bicubic2d(const Tensor& x, Pair2d size, bool align_corners) {
  return resample("upsample_bicubic2d", x, size,
                  [&](int64_t in, int64_t out) { return cubic_taps(in, out, align_corners); });
}

}  // namespace wick
