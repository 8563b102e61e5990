#pragma once

#include <span>

#include "hooks/hook_spec.h"
#include "tensor/tensor.h"

namespace wick {

// Whether a point's values are apart by head: q, k, v, z, scores and patterns.
bool has_heads(HookPoint point);
// How many heads captured values have; 1 for points without.
int64_t head_count(HookPoint point, const Tensor& values);

// The part of captured values, of all positions of a text, that a HookPart names, laid out as HookSpec::replace takes
// it: [positions, heads, ...] or the values themselves. The part must name its positions; no heads mean all.
Tensor part_of(HookPoint point, const Tensor& values, const HookPart& part);

}  // namespace wick
