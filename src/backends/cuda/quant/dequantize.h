#pragma once

#include "tensor/tensor.h"

namespace wick::cuda {

// Rows of packed weights as f16: weights [n, k], rows `row_bytes` apart -> out [n, ld], ld a multiple of 4; zeros
// behind k.
void dequantize_to_f16(Device device, DType dtype, const void* weights, int64_t n, int64_t k, int64_t row_bytes,
                       int64_t ld, void* out);

}  // namespace wick::cuda
