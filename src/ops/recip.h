#pragma once

#include "tensor/tensor.h"

namespace wick {

// 1 / x
Tensor recip(const Tensor& x);

}  // namespace wick
