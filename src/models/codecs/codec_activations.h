#pragma once

#include "tensor/tensor.h"

namespace wick {

// x above 0, e^x - 1 below.
Tensor elu(const Tensor& x);

// x + sin(x * alpha)^2 / beta per channel of x [rows, channels], of what files keep as logarithms.
struct SnakeBeta {
  Tensor alpha, inverse_beta;  // f32 [channels]

  Tensor operator()(const Tensor& x) const;
};
SnakeBeta make_snake_beta(const Tensor& log_alpha, const Tensor& log_beta);

}  // namespace wick
