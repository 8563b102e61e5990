#pragma once

#include "tensor/tensor.h"

namespace wick::cuda {

// The token of the highest logit of each row [rows, n], of equal ones the first, to out i32 [rows]; -1 for a row in
// which one is NaN or infinity, or none is above -infinity. As draw_tokens does it without a temperature.
void likeliest_tokens(const Tensor& logits, const Tensor& out);

}  // namespace wick::cuda
