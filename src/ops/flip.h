#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Reverses the order along the given dimensions.
Tensor flip(const Tensor& x, const std::vector<int64_t>& dims);

}  // namespace wick
