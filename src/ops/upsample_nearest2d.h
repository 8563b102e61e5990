#pragma once

#include "ops/conv_options.h"

namespace wick {

// x [batch, channels, h, w] resized to [batch, channels, size.h, size.w]: output pixel i repeats input pixel
// floor(i * in / out).
Tensor upsample_nearest2d(const Tensor& x, Pair2d size);
// To `scale` times the size.
Tensor upsample_nearest2d_by(const Tensor& x, Pair2d scale);

}  // namespace wick
