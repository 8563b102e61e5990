#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// e^x / sum(e^x) along a dimension.
Tensor softmax(const Tensor& x, int64_t dim);

}  // namespace wick
