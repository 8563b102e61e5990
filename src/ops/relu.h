#pragma once

#include "tensor/tensor.h"

namespace wick {

// max(x, 0)
Tensor relu(const Tensor& x);

}  // namespace wick
