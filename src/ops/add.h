#pragma once

#include "tensor/tensor.h"

namespace wick {

// a + b, broadcast.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double b);

}  // namespace wick
