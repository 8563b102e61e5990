#pragma once

#include "tensor/tensor.h"

namespace wick {

// The nearest whole number, halves to even; its gradient is 0.
Tensor round(const Tensor& x);

}  // namespace wick
