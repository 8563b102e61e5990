#pragma once

#include "ops/conv_options.h"

namespace wick {

// The largest value of each kernel.h x kernel.w window of x [batch, channels, h, w] (NaN if it holds one); the stride
// is the kernel unless given. Windows that would hang over the edge are left out. The gradient goes to the first of
// equal maxima.
Tensor max_pool2d(const Tensor& x, Pair2d kernel);
Tensor max_pool2d(const Tensor& x, Pair2d kernel, Pair2d stride);

}  // namespace wick
