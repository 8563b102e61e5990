#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Throws unless the vector is undefined or fits the last dimension of x.
void check_norm_vector(const char* op, const char* what, const Tensor& x, const Tensor& vector);

// (x - mean) / sqrt(variance + eps) over the last dimension, times weight plus bias ([dim]; either may be empty).
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps = 1e-5f);

// x / sqrt(mean(x^2) + eps) over the last dimension, times weight ([dim]; may be empty).
Tensor rms_norm(const Tensor& x, const Tensor& weight, float eps = 1e-6f);

// Normalises each group of channels of x [batch, channels, ...] to mean 0 and variance 1, then scales and shifts each
// channel by weight and bias ([channels]; either may be empty).
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, float eps = 1e-5f);

}  // namespace wick
