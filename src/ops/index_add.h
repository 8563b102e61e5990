#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// A copy of x with slice i of src added to slice index[i] of x along dim.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

}  // namespace wick
