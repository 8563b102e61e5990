#pragma once

#include "tensor/tensor.h"

namespace wick {

// x * Phi(x), with the exact normal distribution function (the erf form).
Tensor gelu(const Tensor& x);
// The tanh approximation: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Tensor gelu_tanh(const Tensor& x);

}  // namespace wick
