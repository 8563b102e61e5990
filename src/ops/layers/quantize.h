#pragma once

#include "tensor/tensor.h"

namespace wick {

// x [..., k] of floats as blocks of a packed dtype; k must be a multiple of the block. `importance` [k] (f32, may be
// undefined) says how much an error in each column costs, e.g. the mean square of the activations. On the host.
// Throws Error(kUnsupported) for formats that are only read.
Tensor quantize(const Tensor& x, DType dtype, const Tensor& importance = {});

// A packed tensor as f32, f16, bf16 or f64, exactly as its format defines (then rounded to the dtype). to_dtype calls
// these two.
Tensor dequantize(const Tensor& x, DType dtype = DType::kF32);

// Rows of a packed matrix [n, k] by index [count] as f32 [count, k]; the indices are checked by the caller.
Tensor dequantize_rows(const Tensor& matrix, const Tensor& rows);

}  // namespace wick
