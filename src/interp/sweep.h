#pragma once

#include <functional>
#include <span>
#include <vector>

#include "interp/interp_model.h"
#include "interp/metric.h"
#include "interp/sweep_map.h"

namespace wick {

// The metric of one text under many specs, batched: values[i] belongs to make(i). `tokens` end at the metric's
// position.
std::vector<double> sweep(const InterpModel& model, std::span<const int32_t> tokens, int64_t count,
                          const std::function<HookSpec(int64_t)>& make, const Metric& metric,
                          std::span<const float> clean = {}, const SweepProgress& progress = {});

// The logits of the last token.
std::vector<float> last_logits(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks = {});

}  // namespace wick
