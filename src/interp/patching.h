#pragma once

#include <span>
#include <vector>

#include "interp/activation_cache.h"
#include "interp/metric.h"
#include "interp/sweep.h"

namespace wick {

// Activation patching: runs the corrupted text again and again, each time with one cell of the clean run put in. Texts
// must be equally long. Swapping them patches corruption into the clean run; the names in the result then swap, too.
SweepMap patch_sweep(const InterpModel& model, std::span<const int32_t> clean, std::span<const int32_t> corrupted,
                     HookPoint point, const SweepCells& cells, const Metric& metric);

// Adds the values that a run captured at a point, for one intervention by hand: those of the part, or of all positions.
// Throws Error(kInvalidArgument) when `name` was not captured for every position from 0 on.
HookSpec& patch_from(HookSpec& spec, const ActivationCache& run, std::string_view name, HookPart part = {},
                     size_t text = 0);

// Throws Error(kInvalidArgument) with both lengths when they differ.
void check_same_length(std::span<const int32_t> clean, std::span<const int32_t> corrupted);

}  // namespace wick
