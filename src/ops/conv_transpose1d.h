#pragma once

#include "ops/conv_options.h"

namespace wick {

// The transpose of conv1d: x [batch, in, width], weight [in, out / groups, taps], bias [out] or undefined ->
// [batch, out, out_width]. Floats only; the result has the promoted dtype of x and weight.
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose1dOptions& options = {});

}  // namespace wick
