#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Splits a dimension into `chunks` parts of equal size (the last may be smaller, and there may be fewer); views.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim);

}  // namespace wick
