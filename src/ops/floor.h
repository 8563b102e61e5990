#pragma once

#include "tensor/tensor.h"

namespace wick {

// The next whole number below; its gradient is 0.
Tensor floor(const Tensor& x);

}  // namespace wick
