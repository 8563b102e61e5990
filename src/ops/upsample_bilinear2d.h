#pragma once

#include "ops/conv_options.h"

namespace wick {

// x [batch, channels, h, w] resized to [batch, channels, size.h, size.w], each output pixel mixed from its two nearest
// rows and columns. Positions follow pixel centres, or put the corner pixels on each other with align_corners.
Tensor upsample_bilinear2d(const Tensor& x, Pair2d size, bool align_corners = false);

}  // namespace wick
