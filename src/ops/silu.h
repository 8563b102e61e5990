#pragma once

#include "tensor/tensor.h"

namespace wick {

// x * sigmoid(x), also called swish.
Tensor silu(const Tensor& x);

}  // namespace wick
