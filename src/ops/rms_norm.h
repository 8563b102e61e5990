#pragma once

#include "tensor/tensor.h"

namespace wick {

// x / sqrt(mean(x^2) + eps) over the last dimension, times weight ([dim]; may be empty).
Tensor rms_norm(const Tensor& x, const Tensor& weight, float eps = 1e-6f);

}  // namespace wick
