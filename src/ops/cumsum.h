#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Running sums along a dimension; integers keep their dtype.
Tensor cumsum(const Tensor& x, int64_t dim);

}  // namespace wick
