#include "ops/apply.h"

#include <cmath>

#include "ops/check.h"

namespace wick {

Tensor apply_unary_any(const char* op, UnaryOp code, const Tensor& x) {
  check_defined(op, x);
  const auto kernel = find_kernel(op, x.device(), &KernelTable::unary);
  Tensor out = empty_like(x);
  kernel(code, x, out);
  return out;
}

Tensor apply_unary(const char* op, UnaryOp code, const Tensor& x) {
  check_float(op, x);
  return apply_unary_any(op, code, x);
}

Tensor apply_binary(const char* op, BinaryOp code, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  check_same_device(op, {&a, &b});
  const auto kernel = find_kernel(op, a.device(), &KernelTable::binary);
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  DType dtype = promote(a.dtype(), b.dtype());
  if (code == BinaryOp::kDiv && is_integer(dtype)) dtype = DType::kF64;  // true division, as in NumPy
  Tensor out = empty(shape, dtype, a.device());
  kernel(code, broadcast_view(op, as_dtype(a, dtype), shape), broadcast_view(op, as_dtype(b, dtype), shape), out);
  return out;
}

Tensor apply_compare(const char* op, CompareOp code, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  check_same_device(op, {&a, &b});
  const auto kernel = find_kernel(op, a.device(), &KernelTable::compare);
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  const DType dtype = promote(a.dtype(), b.dtype());
  Tensor out = empty(shape, DType::kU8, a.device());
  kernel(code, broadcast_view(op, as_dtype(a, dtype), shape), broadcast_view(op, as_dtype(b, dtype), shape), out);
  return out;
}

Tensor scalar_beside(const Tensor& x, double value) {
  const bool fraction = std::trunc(value) != value;
  const DType dtype = is_integer(x.dtype()) && fraction ? DType::kF64 : x.dtype();
  return scalar(value, dtype, x.device());
}

DimList normalize_dims(const char* op, std::span<const int64_t> dims, int rank) {
  std::array<bool, kMaxRank> chosen{};
  for (const int64_t dim : dims) {
    const int d = normalize_dim(op, dim, rank);
    if (chosen[d]) throw Error(ErrorCode::kInvalidArgument, cat(op, ": dimension ", d, " is given twice"));
    chosen[d] = true;
  }
  DimList result;
  for (int d = 0; d < rank; ++d) {
    if (dims.empty() || chosen[d]) result.push_back(d);
  }
  return result;
}

Shape kept_shape(const Shape& shape, std::span<const int64_t> dims) {
  Shape kept = shape;
  for (const int64_t d : dims) kept = kept.with(static_cast<int>(d), 1);
  return kept;
}

Shape dropped_shape(const Shape& shape, std::span<const int64_t> dims) {
  Shape dropped = shape;
  for (size_t i = dims.size(); i-- > 0;) dropped = dropped.without(static_cast<int>(dims[i]));
  return dropped;
}

Reduced apply_reduce(const char* op, ReduceOp code, const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  check_defined(op, x);
  const auto kernel = find_kernel(op, x.device(), &KernelTable::reduce);
  Reduced result;
  result.dims = normalize_dims(op, dims, x.rank());
  const Shape kept = kept_shape(x.shape(), result.dims);
  result.final_shape = keepdim ? kept : dropped_shape(x.shape(), result.dims);
  result.count = 1;
  for (const int64_t d : result.dims) result.count *= x.shape()[static_cast<int>(d)];
  if (result.count == 0 && kept.numel() > 0 && code != ReduceOp::kSum) {
    throw Error(ErrorCode::kShape, cat(op, ": ", x.shape(), " has no elements to reduce"));
  }
  DType dtype = x.dtype();
  if (is_integer(dtype) && code == ReduceOp::kSum) dtype = DType::kI64;
  if (is_integer(dtype) && code == ReduceOp::kMean) dtype = DType::kF64;
  result.kept = empty(kept, dtype, x.device());
  kernel(code, x, result.kept);
  return result;
}

}  // namespace wick
