#pragma once

#include "tensor/tensor.h"

namespace wick {

// The square root.
Tensor sqrt(const Tensor& x);

}  // namespace wick
