#pragma once

#include "tensor/tensor.h"

namespace wick {

// The smaller of a and b, broadcast; NaN if either is. On ties each gets half the gradient.
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, double b);

}  // namespace wick
