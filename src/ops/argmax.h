#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Where the largest value along dim is, as i64; the first of equals.
Tensor argmax(const Tensor& x, int64_t dim, bool keepdim = false);
// Over all elements, counted in row-major order.
Tensor argmax(const Tensor& x);

}  // namespace wick
