#pragma once

#include "tensor/tensor.h"

namespace wick {

// 1 / (1 + e^-x)
Tensor sigmoid(const Tensor& x);

}  // namespace wick
