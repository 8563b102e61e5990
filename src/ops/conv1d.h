#pragma once

#include "ops/conv_options.h"

namespace wick {

// x [batch, in, width], weight [out, in / groups, taps], bias [out] or undefined -> [batch, out, out_width].
// Floats only; the result has the promoted dtype of x and weight.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

}  // namespace wick
