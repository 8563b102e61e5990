#pragma once

#include "tensor/tensor.h"

namespace wick {

// x limited to [low, high]; NaN stays NaN. The gradient is 0 outside.
Tensor clamp(const Tensor& x, double low, double high);

}  // namespace wick
