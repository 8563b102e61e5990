#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Joins tensors along a dimension; the other sizes must agree. Dtypes are promoted.
Tensor concat(const std::vector<Tensor>& parts, int64_t dim);

}  // namespace wick
