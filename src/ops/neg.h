#pragma once

#include "tensor/tensor.h"

namespace wick {

// -x
Tensor neg(const Tensor& x);

}  // namespace wick
