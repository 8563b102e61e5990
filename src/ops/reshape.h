#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// The same elements in row-major order under another shape; a view where the strides allow it, else a copy.
// One size may be -1: it is worked out from the others.
Tensor reshape(const Tensor& x, std::span<const int64_t> dims);
Tensor reshape(const Tensor& x, std::initializer_list<int64_t> dims);
Tensor reshape(const Tensor& x, const Shape& shape);
// Dimensions start..end (inclusive) as one.
Tensor flatten(const Tensor& x, int64_t start = 0, int64_t end = -1);

}  // namespace wick
