#pragma once

#include "ops/conv_options.h"

namespace wick {

// x [batch, in, h, w], weight [out, in / groups, kh, kw], bias [out] or undefined -> [batch, out, oh, ow].
// Floats only; the result has the promoted dtype of x and weight.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv2dOptions& options = {});

}  // namespace wick
