#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// The slices of x along dim that index [n] names, in that order.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);

}  // namespace wick
