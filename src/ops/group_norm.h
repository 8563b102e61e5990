#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Normalises each group of channels of x [batch, channels, ...] to mean 0 and variance 1, then scales and shifts each
// channel by weight and bias ([channels]; either may be empty).
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, float eps = 1e-5f);

}  // namespace wick
