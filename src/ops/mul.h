#pragma once

#include "tensor/tensor.h"

namespace wick {

// a * b, broadcast.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, double b);

}  // namespace wick
