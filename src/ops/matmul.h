#pragma once

#include "tensor/tensor.h"

namespace wick {

// a [batch..., m, k] x b [batch..., k, n] = [batch..., m, n]; batch dimensions broadcast, operands may be transposed
// views. Floats only; the result has the promoted dtype, so f32 activations keep f32 beside bf16 weights.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace wick
