#pragma once

#include "ops/conv_options.h"

namespace wick {

// For the pooling ops: checks x [batch, channels, h, w] and the window, and gives the output's shape.
// Throws Error naming the op and the facts.
Shape pool_shape(const char* op, const Tensor& x, const Pool2dParams& params);

}  // namespace wick
