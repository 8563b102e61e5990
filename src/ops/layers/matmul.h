#pragma once

#include "tensor/tensor.h"

namespace wick {

// a [batch..., m, k] x b [batch..., k, n] = [batch..., m, n]; batch dimensions broadcast, operands may be transposed
// views. Floats only; the result has the promoted dtype, so f32 activations keep f32 beside bf16 weights.
// b may also be transpose(w) of a packed weight w [batch..., n, k] (q4_k, ...): a is then rounded to 8 bits in blocks,
// the sums are exact integers within a block, and the result has the dtype of a (f64 is not supported).
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace wick
