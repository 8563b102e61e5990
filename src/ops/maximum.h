#pragma once

#include "tensor/tensor.h"

namespace wick {

// The larger of a and b, broadcast; NaN if either is. On ties each gets half the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, double b);

}  // namespace wick
