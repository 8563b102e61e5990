#pragma once

#include "tensor/tensor.h"

namespace wick {

// The next whole number above; its gradient is 0.
Tensor ceil(const Tensor& x);

}  // namespace wick
