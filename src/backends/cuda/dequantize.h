#pragma once

#include "tensor/tensor.h"

namespace wick::cuda {

// Rows of packed weights as f16, as the packed products take them: where matmul_packed has a kernel of its own for the
// format, exactly the numbers that it computes with. w [n, k] -> out [n, ld], ld even; zeros behind k.
void dequantize_to_f16(const Tensor& w, int64_t ld, void* out);

}  // namespace wick::cuda
