#pragma once

#include "ops/conv_options.h"

namespace wick {

// The transpose of conv2d: x [batch, in, h, w], weight [in, out / groups, kh, kw], bias [out] or undefined ->
// [batch, out, oh, ow]. Floats only; the result has the promoted dtype of x and weight.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose2dOptions& options = {});

}  // namespace wick
