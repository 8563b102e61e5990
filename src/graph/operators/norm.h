#pragma once

#include "graph/numbers.h"
#include "graph/operators.h"

namespace wick::graph {

// Both compute in f32 at least and give x's type; scale and bias have `columns` elements or are undefined.
Tensor norm_rows(const Tensor& x, const Tensor& scale, const Tensor& bias, int64_t columns, float epsilon);
Tensor rms_norm_rows(const Tensor& x, const Tensor& scale, int64_t columns, float epsilon);
// ai.onnx has these too, where exporters put them by mistake.
void simplified_layer_norm_op(OpRun& run);

}  // namespace wick::graph
