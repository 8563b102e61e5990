#pragma once

#include "ops/conv_options.h"

namespace wick {

// The mean of each kernel.h x kernel.w window of x [batch, channels, h, w]; the stride is the kernel unless given.
// Windows that would hang over the edge are left out.
Tensor avg_pool2d(const Tensor& x, Pair2d kernel);
Tensor avg_pool2d(const Tensor& x, Pair2d kernel, Pair2d stride);

}  // namespace wick
