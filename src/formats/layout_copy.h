#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "tensor/tensor.h"

namespace wick {

// Moving rows of weights on the host without computing on them, so for packed dtypes, too. "Rows" are the slices of the
// first dimension; each is a run of whole blocks or elements.

// x itself when its elements lie row by row without gaps, else a copy that does. Throws Error(kUnsupported) when the
// blocks of a packed x do not lie along its last dimension.
Tensor compact(const Tensor& x);

// Row i of the result is row source(i) of x; the result has `rows` rows.
Tensor gather_rows(const Tensor& x, int64_t rows, FunctionRef<int64_t(int64_t)> source);

// A view of rows [start, start + length) of dimension `dim` (not the last of a packed x).
Tensor narrow_rows(const Tensor& x, int dim, int64_t start, int64_t length);

// Parts of equal dtype joined along `dim` (0 or 1); other dimensions must agree. Throws Error(kShape).
Tensor join_rows(std::span<const Tensor> parts, int dim);

// Parts of equal shape and dtype as one tensor [parts, ...].
Tensor stack_parts(std::span<const Tensor> parts);

}  // namespace wick
