#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// The upper triangle of the last two dimensions: columns j >= i + diagonal stay, the rest is 0.
Tensor triu(const Tensor& x, int64_t diagonal = 0);

}  // namespace wick
