#pragma once

#include "ops/conv_options.h"

namespace wick {

// x [batch, channels, h, w] resized to [batch, channels, size.h, size.w] by cubic convolution over 4 x 4 pixels
// (a = -0.75; pixels beyond the border repeat it). Positions follow pixel centres, or put the corner pixels on each
// other with align_corners.
Tensor upsample_bicubic2d(const Tensor& x, Pair2d size, bool align_corners = false);

}  // namespace wick
