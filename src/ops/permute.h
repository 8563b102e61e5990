#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// Reorders the dimensions: dimension i of the result is dimension dims[i] of x (a view).
Tensor permute(const Tensor& x, std::span<const int64_t> dims);
Tensor permute(const Tensor& x, std::initializer_list<int64_t> dims);
// Swaps two dimensions (a view).
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);

}  // namespace wick
