#pragma once

#include "tensor/tensor.h"

namespace wick {

// x * x
Tensor sqr(const Tensor& x);

}  // namespace wick
