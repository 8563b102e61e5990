#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Joins tensors of one shape along a new dimension.
Tensor stack(const std::vector<Tensor>& parts, int64_t dim);

}  // namespace wick
