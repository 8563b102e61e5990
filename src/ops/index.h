#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Throws unless an index of this shape can be used along `dim` of x.
void check_index_shape(const char* op, const Shape& x, const Shape& index, int dim);

// out[.., i, ..] = x[.., index[.., i, ..], ..] along dim; index has x's rank and no dimension larger than x's
// (except dim).
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);

// A copy of x with x[.., index[.., i, ..], ..] = src[.., i, ..] along dim; the last of several writes to a place wins.
// index has the shape of src.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

// A copy of x with src[.., i, ..] added to x[.., index[.., i, ..], ..] along dim.
// index has the shape of src.
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

// The slices of x along dim that index [n] names, in that order.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);

// A copy of x with slice i of src added to slice index[i] of x along dim.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

// Rows of weight [vocab, dim] for each of indices [...]: returns [..., dim].
Tensor embedding(const Tensor& indices, const Tensor& weight);

// Rows of table [n, dim] by index [count] (i64), packed ones as f32. For indices that are known to be in range: they
// are not looked at, which would stop other devices than the host. No gradient is recorded.
Tensor take_rows(const Tensor& table, const Tensor& index);

}  // namespace wick
