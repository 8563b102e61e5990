#pragma once

#include "tensor/tensor.h"

namespace wick {

// Throws unless the vector is undefined or fits the last dimension of x.
void check_norm_vector(const char* op, const char* what, const Tensor& x, const Tensor& vector);

// (x - mean) / sqrt(variance + eps) over the last dimension, times weight plus bias ([dim]; either may be empty).
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps = 1e-5f);

}  // namespace wick
