#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

struct Sorted {
  Tensor values;
  Tensor indices;  // i64: where each value stood
};

// Sorts along a dimension; stable, NaN as the largest value.
Sorted sort(const Tensor& x, int64_t dim, bool descending = false);

// The k largest (or smallest) values along a dimension, in order, and where they stood.
Sorted topk(const Tensor& x, int64_t k, int64_t dim, bool largest = true);

}  // namespace wick
