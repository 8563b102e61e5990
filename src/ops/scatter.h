#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// A copy of x with x[.., index[.., i, ..], ..] = src[.., i, ..] along dim; the last of several writes to a place wins.
// index has the shape of src.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

}  // namespace wick
