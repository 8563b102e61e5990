#pragma once

#include "tensor/tensor.h"

namespace wick {

// The error function 2/sqrt(pi) * integral of e^(-t*t) from 0 to x.
Tensor erf(const Tensor& x);

}  // namespace wick
