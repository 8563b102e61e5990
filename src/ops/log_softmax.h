#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// x - log(sum(e^x)) along a dimension.
Tensor log_softmax(const Tensor& x, int64_t dim);

}  // namespace wick
