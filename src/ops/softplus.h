#pragma once

#include "tensor/tensor.h"

namespace wick {

// log(1 + e^x), without overflow.
Tensor softplus(const Tensor& x);

}  // namespace wick
