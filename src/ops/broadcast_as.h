#pragma once

#include "tensor/tensor.h"

namespace wick {

// x repeated along missing dimensions and those of size 1 (a view with stride 0).
Tensor broadcast_as(const Tensor& x, const Shape& shape);

}  // namespace wick
