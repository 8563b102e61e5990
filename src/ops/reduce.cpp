#include "ops/reduce.h"

#include "ops/check.h"

namespace wick {

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
