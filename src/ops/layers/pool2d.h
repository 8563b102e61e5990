#pragma once

#include "ops/layers/conv.h"

namespace wick {

// For the pooling ops: checks x [batch, channels, h, w] and the window, and gives the output's shape.
// Throws Error naming the op and the facts.
Shape pool_shape(const char* op, const Tensor& x, const Pool2dParams& params);

// The mean of each kernel.h x kernel.w window of x [batch, channels, h, w]; the stride is the kernel unless given.
// Windows that would hang over the edge are left out.
Tensor avg_pool2d(const Tensor& x, Pair2d kernel);
Tensor avg_pool2d(const Tensor& x, Pair2d kernel, Pair2d stride);

// The largest value of each kernel.h x kernel.w window of x [batch, channels, h, w] (NaN if it holds one); the stride
// is the kernel unless given. Windows that would hang over the edge are left out. The gradient goes to the first of
// equal maxima.
Tensor max_pool2d(const Tensor& x, Pair2d kernel);
Tensor max_pool2d(const Tensor& x, Pair2d kernel, Pair2d stride);

}  // namespace wick
