#pragma once

#include "tensor/tensor.h"

namespace wick {

// a to the power b, broadcast. Integers stay integers; a negative exponent beside integers is an error.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, double b);

}  // namespace wick
