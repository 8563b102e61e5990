#pragma once

#include "tensor/tensor.h"

namespace wick {

// Rows of weight [vocab, dim] for each of indices [...]: returns [..., dim].
Tensor embedding(const Tensor& indices, const Tensor& weight);

// Rows of table [n, dim] by index [count] (i64), packed ones as f32. For indices that are known to be in range: they
// are not looked at, which would stop other devices than the host. No gradient is recorded.
Tensor take_rows(const Tensor& table, const Tensor& index);

}  // namespace wick
