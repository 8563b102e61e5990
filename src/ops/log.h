#pragma once

#include "tensor/tensor.h"

namespace wick {

// The natural logarithm.
Tensor log(const Tensor& x);

}  // namespace wick
