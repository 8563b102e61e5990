#pragma once

#include "tensor/tensor.h"

namespace wick {

// Sine, x in radians.
Tensor sin(const Tensor& x);

}  // namespace wick
