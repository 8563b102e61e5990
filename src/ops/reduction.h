#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// The sum; integers add up in i64. Over the given dims (all of them when none are given).
Tensor sum(const Tensor& x, std::span<const int64_t> dims = {}, bool keepdim = false);
Tensor sum(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim = false);

// The mean; integers give f64. Over the given dims (all of them when none are given).
Tensor mean(const Tensor& x, std::span<const int64_t> dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim = false);

// The variance, divided by count - correction: 0 takes the values as the whole population (the default, as in NumPy),
// 1 estimates from a sample. Over the given dims (all of them when none are given).
Tensor var(const Tensor& x, std::span<const int64_t> dims = {}, int64_t correction = 0, bool keepdim = false);
Tensor var(const Tensor& x, std::initializer_list<int64_t> dims, int64_t correction = 0, bool keepdim = false);

// The largest value; NaN if there is one. Equal extremes share the gradient. Over the given dims (all of them when none
// are given).
Tensor max(const Tensor& x, std::span<const int64_t> dims = {}, bool keepdim = false);
Tensor max(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim = false);

// The smallest value; NaN if there is one. Equal extremes share the gradient. Over the given dims (all of them when
// none are given).
Tensor min(const Tensor& x, std::span<const int64_t> dims = {}, bool keepdim = false);
Tensor min(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim = false);

// Where the largest value along dim is, as i64; the first of equals.
Tensor argmax(const Tensor& x, int64_t dim, bool keepdim = false);
// Over all elements, counted in row-major order.
Tensor argmax(const Tensor& x);

// Where the smallest value along dim is, as i64; the first of equals.
Tensor argmin(const Tensor& x, int64_t dim, bool keepdim = false);
// Over all elements, counted in row-major order.
Tensor argmin(const Tensor& x);

// Running sums along a dimension; integers keep their dtype.
Tensor cumsum(const Tensor& x, int64_t dim);

}  // namespace wick
