#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Throws unless an index of this shape can be used along `dim` of x.
void check_index_shape(const char* op, const Shape& x, const Shape& index, int dim);

// out[.., i, ..] = x[.., index[.., i, ..], ..] along dim; index has x's rank and no dimension larger than x's
// (except dim).
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);

}  // namespace wick
