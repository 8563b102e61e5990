#pragma once

#include "tensor/tensor.h"

namespace wick {

// |x|; its gradient at 0 is 0.
Tensor abs(const Tensor& x);

}  // namespace wick
