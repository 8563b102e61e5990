#pragma once

#include "tensor/tensor.h"

namespace wick {

// 1 where a > b, else 0, as u8; broadcast.
Tensor gt(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, double b);

}  // namespace wick
