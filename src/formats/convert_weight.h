#pragma once

#include <span>

#include "formats/quantize_plan.h"
#include "formats/weights.h"

namespace wick {

// Weights changed from one storage dtype to another on the host, row by row and in parallel, so that memory holds the
// source, the result and one row per thread.

// x [..., k] as `dtype`, any float or packed one that can be written; x itself when it is that already. `importance`
// is empty, [k], or [x.dim(0) * k] for stacked experts. Throws Error(kUnsupported) or Error(kShape).
Tensor convert_tensor(const Tensor& x, DType dtype, std::span<const float> importance = {});

// The weight with its inputs in their natural order; f32 when they had been sorted, else as it is.
Tensor in_natural_order(const LoadedWeight& loaded);

// What a plan depends on, from the model's settings.
PlanFacts plan_facts(const WeightSource& source);

// A weight by its HF name, quantised as the plan says while it is loaded; the pages of its old form are dropped.
LoadedWeight load_weight(const WeightSource& source, std::string_view hf_name, const QuantizePlan& plan);

}  // namespace wick
