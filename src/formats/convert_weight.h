#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "formats/quantize/quantize_plan.h"
#include "formats/weights.h"

namespace wick {

// Weights changed from one storage dtype to another on the host, row by row and in parallel.

inline constexpr auto ignore_bytes = [](int64_t) {};

// x [..., k] as `dtype`, any float or packed one that can be written; x itself when it is that already. `importance`
// is empty, [k], or [x.dim(0) * k] for stacked experts. `done` hears of the bytes
// of x that each piece took. Throws Error(kUnsupported) or Error(kShape).
Tensor convert_tensor(const Tensor& x, DType dtype, std::span<const float> importance = {},
                      FunctionRef<void(int64_t bytes)> done = ignore_bytes);

// The same for a tensor of the source's files, in pieces whose pages are dropped as soon as they have been read, so
// that the largest tensor need not fit beside its result.
Tensor convert_and_forget(const WeightSource& source, const Tensor& x, DType dtype,
                          std::span<const float> importance = {});

// The weight with its inputs in their natural order; f32 when they had been sorted, else as it is.
Tensor in_natural_order(const LoadedWeight& loaded);

// What a plan depends on, from the model's settings.
PlanFacts plan_facts(const WeightSource& source);

// A weight by its HF name, quantised as the plan says while it is loaded; the pages of its old form are dropped.
LoadedWeight load_weight(const WeightSource& source, std::string_view hf_name, const QuantizePlan& plan);

}  // namespace wick
