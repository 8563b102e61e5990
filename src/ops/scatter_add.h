#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// A copy of x with src[.., i, ..] added to x[.., index[.., i, ..], ..] along dim.
// index has the shape of src.
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

}  // namespace wick
