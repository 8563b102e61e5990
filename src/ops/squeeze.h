#pragma once

#include "tensor/tensor.h"

namespace wick {

// Removes a dimension of size 1 (a view).
Tensor squeeze(const Tensor& x, int64_t dim);

}  // namespace wick
