#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

enum class PadMode : uint8_t { kZero, kReflect, kReplicate };

// Adds `left` elements before and `right` after a dimension: zeros, the mirrored neighbours (without the edge
// itself), or copies of the edge.
Tensor pad(const Tensor& x, int64_t dim, int64_t left, int64_t right, PadMode mode = PadMode::kZero);

}  // namespace wick
