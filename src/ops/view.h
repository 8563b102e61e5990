#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// The same elements in row-major order under another shape; a view where the strides allow it, else a copy.
// One size may be -1: it is worked out from the others.
Tensor reshape(const Tensor& x, std::span<const int64_t> dims);
Tensor reshape(const Tensor& x, std::initializer_list<int64_t> dims);
Tensor reshape(const Tensor& x, const Shape& shape);
// Dimensions start..end (inclusive) as one.
Tensor flatten(const Tensor& x, int64_t start = 0, int64_t end = -1);

// Removes a dimension of size 1 (a view).
Tensor squeeze(const Tensor& x, int64_t dim);

// Adds a dimension of size 1 before dimension `dim` (a view); -1 adds it at the end.
Tensor unsqueeze(const Tensor& x, int64_t dim);

// Reorders the dimensions: dimension i of the result is dimension dims[i] of x (a view).
Tensor permute(const Tensor& x, std::span<const int64_t> dims);
Tensor permute(const Tensor& x, std::initializer_list<int64_t> dims);
// Swaps two dimensions (a view).
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);

// Elements start .. start + length of one dimension (a view).
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);

// Splits a dimension into `chunks` parts of equal size (the last may be smaller, and there may be fewer); views.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim);

// x repeated along missing dimensions and those of size 1 (a view with stride 0).
Tensor broadcast_as(const Tensor& x, const Shape& shape);

}  // namespace wick
