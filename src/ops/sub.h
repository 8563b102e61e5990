#pragma once

#include "tensor/tensor.h"

namespace wick {

// a - b, broadcast.
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, double b);
Tensor sub(double a, const Tensor& b);

}  // namespace wick
