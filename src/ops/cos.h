#pragma once

#include "tensor/tensor.h"

namespace wick {

// Cosine, x in radians.
Tensor cos(const Tensor& x);

}  // namespace wick
