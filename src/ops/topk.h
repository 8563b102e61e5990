#pragma once

#include "ops/sort.h"
#include "tensor/tensor.h"

namespace wick {

// The k largest (or smallest) values along a dimension, in order, and where they stood.
Sorted topk(const Tensor& x, int64_t k, int64_t dim, bool largest = true);

}  // namespace wick
