#pragma once

#include "tensor/tensor.h"

namespace wick {

// The hyperbolic tangent.
Tensor tanh(const Tensor& x);

}  // namespace wick
