#pragma once

#include <cstdint>
#include <span>

#include "base/inline_vector.h"
#include "ops/kernel_table.h"
#include "tensor/tensor.h"

namespace wick {

// The parts that element-wise ops share: checks, promotion, broadcasting and the kernel call, without the gradient.
Tensor apply_unary(const char* op, UnaryOp code, const Tensor& x);      // floats only
Tensor apply_unary_any(const char* op, UnaryOp code, const Tensor& x);  // integers too
Tensor apply_binary(const char* op, BinaryOp code, const Tensor& a, const Tensor& b);
Tensor apply_compare(const char* op, CompareOp code, const Tensor& a, const Tensor& b);

// A number as an operand beside x: it takes x's dtype, except that a fraction beside integers becomes f64.
Tensor scalar_beside(const Tensor& x, double value);

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
