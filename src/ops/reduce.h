#pragma once

#include <cstdint>
#include <span>

#include "base/inline_vector.h"
#include "ops/kernel_table.h"
#include "tensor/tensor.h"

namespace wick {

using DimList = InlineVector<int64_t, kMaxRank>;

// Shared by the reductions. The dims counted from the front, sorted and unique; all of them when `dims` is empty.
DimList normalize_dims(const char* op, std::span<const int64_t> dims, int rank);
// x's shape with size 1 in the reduced dims.
Shape kept_shape(const Shape& shape, std::span<const int64_t> dims);
// x's shape without the reduced dims.
Shape dropped_shape(const Shape& shape, std::span<const int64_t> dims);

struct Reduced {
  Tensor kept;        // result with size 1 in the reduced dims
  Shape final_shape;  // what the caller asked for
  DimList dims;
  int64_t count;  // elements behind each result
};
Reduced apply_reduce(const char* op, ReduceOp code, const Tensor& x, std::span<const int64_t> dims, bool keepdim);

}  // namespace wick
