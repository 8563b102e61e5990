#pragma once

#include "tensor/tensor.h"

namespace wick {

// a where the condition is not 0, else b; all three broadcast. The condition may have any dtype.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace wick
