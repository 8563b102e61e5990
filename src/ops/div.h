#pragma once

#include "tensor/tensor.h"

namespace wick {

// a / b, broadcast; integers give f64, as in NumPy.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);

}  // namespace wick
