#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Joins tensors along a dimension; the other sizes must agree. Dtypes are promoted.
Tensor concat(const std::vector<Tensor>& parts, int64_t dim);

// Joins tensors of one shape along a new dimension.
Tensor stack(const std::vector<Tensor>& parts, int64_t dim);

enum class PadMode : uint8_t { kZero, kReflect, kReplicate };

// Adds `left` elements before and `right` after a dimension: zeros, the mirrored neighbours (without the edge
// itself), or copies of the edge.
Tensor pad(const Tensor& x, int64_t dim, int64_t left, int64_t right, PadMode mode = PadMode::kZero);

// Reverses the order along the given dimensions.
Tensor flip(const Tensor& x, const std::vector<int64_t>& dims);

// The lower triangle of the last two dimensions: columns j <= i + diagonal stay, the rest is 0.
Tensor tril(const Tensor& x, int64_t diagonal = 0);

// The upper triangle of the last two dimensions: columns j >= i + diagonal stay, the rest is 0.
Tensor triu(const Tensor& x, int64_t diagonal = 0);

}  // namespace wick
