#pragma once

#include "tensor/tensor.h"

namespace wick {

// Elements start .. start + length of one dimension (a view).
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);

}  // namespace wick
