#include "ops/upsample_nearest2d.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/check.h"
#include "ops/resample.h"

namespace wick {

namespace {

ResampleTaps nearest_taps(int64_t in, int64_t out) {
  ResampleTaps taps;
  taps.weight.assign(out, 1);
  for (int64_t i = 0; i < out; ++i) {
    // Exact while i * in fits a double's 53 bits.
    const auto place =
        static_cast<int64_t>(static_cast<double>(i) * static_cast<double>(in) / static_cast<double>(out));
    taps.index.push_back(std::min(place, in - 1));
  }
  return taps;
}

}  // namespace

Tensor upsample_nearest2d(const Tensor& x, Pair2d size) {
  return resample("upsample_nearest2d", x, size, [](int64_t in, int64_t out) { return nearest_taps(in, out); });
}

Tensor upsample_nearest2d_by(const Tensor& x, Pair2d scale) {
  check_rank("upsample_nearest2d", "x", x, 4);
  const auto h = checked_mul(x.dim(2), scale.h), w = checked_mul(x.dim(3), scale.w);
  if (scale.h < 1 || scale.w < 1 || !h || !w) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("upsample_nearest2d: scale ", scale.h, " x ", scale.w, " for x ", x.shape()));
  }
  return upsample_nearest2d(x, {*h, *w});
}

}  // namespace wick
