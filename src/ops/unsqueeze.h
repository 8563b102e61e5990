#pragma once

#include "tensor/tensor.h"

namespace wick {

// Adds a dimension of size 1 before dimension `dim` (a view); -1 adds it at the end.
Tensor unsqueeze(const Tensor& x, int64_t dim);

}  // namespace wick
