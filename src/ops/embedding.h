#pragma once

#include "tensor/tensor.h"

namespace wick {

// Rows of weight [vocab, dim] for each of indices [...]: returns [..., dim].
Tensor embedding(const Tensor& indices, const Tensor& weight);

}  // namespace wick
