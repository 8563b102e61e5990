#pragma once

#include "tensor/tensor.h"

namespace wick {

// e^x
Tensor exp(const Tensor& x);

}  // namespace wick
