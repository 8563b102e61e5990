#include "ops/reduction.h"

#include "ops/apply.h"
#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick {

Tensor sum(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("sum", ReduceOp::kSum, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "sum", {x}, [from = x.shape(), kept = reduced.kept.shape()](const Tensor& grad) -> Grads {
      return {broadcast_as(reshape(grad, kept), from)};
    });
  }
  return out;
}

Tensor sum(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return sum(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

Tensor mean(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("mean", ReduceOp::kMean, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "mean", {x}, [from = x.shape(), reduced](const Tensor& grad) -> Grads {
      const Tensor share = div(reshape(grad, reduced.kept.shape()), static_cast<double>(reduced.count));
      return {broadcast_as(share, from)};
    });
  }
  return out;
}

Tensor mean(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return mean(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

Tensor var(const Tensor& x, std::span<const int64_t> dims, int64_t correction, bool keepdim) {
  check_float("var", x);
  const auto kernel = find_kernel("var", x.device(), &KernelTable::variance);
  const auto reduced_dims = normalize_dims("var", dims, x.rank());
  int64_t count = 1;
  for (const int64_t d : reduced_dims) count *= x.shape()[static_cast<int>(d)];
  if (correction < 0 || count <= correction) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("var: ", count, " elements of ", x.shape(), " with correction ", correction));
  }
  const Shape kept = kept_shape(x.shape(), reduced_dims);
  const Tensor variance = empty(kept, x.dtype(), x.device());
  kernel(x, correction, variance);
  Tensor out = reshape(variance, keepdim ? kept : dropped_shape(x.shape(), reduced_dims));
  if (tracks(x)) {
    const double scale = 2.0 / static_cast<double>(count - correction);
    record(out, "var", {x}, [x, kept, reduced_dims, scale](const Tensor& grad) -> Grads {
      const Tensor centred = sub(x, mean(x, reduced_dims, true));
      return {mul(mul(reshape(grad, kept), scale), centred)};
    });
  }
  return out;
}

Tensor var(const Tensor& x, std::initializer_list<int64_t> dims, int64_t correction, bool keepdim) {
  return var(x, std::span<const int64_t>(dims.begin(), dims.size()), correction, keepdim);
}

Tensor max(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("max", ReduceOp::kMax, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "max", {x}, [x, reduced](const Tensor& grad) -> Grads {
      const Tensor hits = eq(x, reduced.kept).to_dtype(grad.dtype());
      const Tensor share = div(reshape(grad, reduced.kept.shape()), sum(hits, reduced.dims, true));
      return {mul(hits, share)};
    });
  }
  return out;
}

Tensor max(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return max(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

Tensor min(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("min", ReduceOp::kMin, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "min", {x}, [x, reduced](const Tensor& grad) -> Grads {
      const Tensor hits = eq(x, reduced.kept).to_dtype(grad.dtype());
      const Tensor share = div(reshape(grad, reduced.kept.shape()), sum(hits, reduced.dims, true));
      return {mul(hits, share)};
    });
  }
  return out;
}

Tensor min(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return min(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

Tensor argmax(const Tensor& x, int64_t dim, bool keepdim) {
  check_defined("argmax", x);
  const int d = normalize_dim("argmax", dim, x.rank());
  if (x.dim(d) == 0)
    throw Error(ErrorCode::kShape, cat("argmax: dimension ", d, " of ", x.shape(), " has no elements"));
  const auto kernel = find_kernel("argmax", x.device(), &KernelTable::arg_reduce);
  const Tensor kept = empty(x.shape().with(d, 1), DType::kI64, x.device());
  kernel(ArgReduceOp::kArgMax, x, d, kept);
  return keepdim ? kept : reshape(kept, x.shape().without(d));
}

Tensor argmax(const Tensor& x) {
  check_defined("argmax", x);
  return argmax(flatten(x.detach()), 0);
}

Tensor argmin(const Tensor& x, int64_t dim, bool keepdim) {
  check_defined("argmin", x);
  const int d = normalize_dim("argmin", dim, x.rank());
  if (x.dim(d) == 0)
    throw Error(ErrorCode::kShape, cat("argmin: dimension ", d, " of ", x.shape(), " has no elements"));
  const auto kernel = find_kernel("argmin", x.device(), &KernelTable::arg_reduce);
  const Tensor kept = empty(x.shape().with(d, 1), DType::kI64, x.device());
  kernel(ArgReduceOp::kArgMin, x, d, kept);
  return keepdim ? kept : reshape(kept, x.shape().without(d));
}

Tensor argmin(const Tensor& x) {
  check_defined("argmin", x);
  return argmin(flatten(x.detach()), 0);
}

Tensor cumsum(const Tensor& x, int64_t dim) {
  check_defined("cumsum", x);
  const int d = normalize_dim("cumsum", dim, x.rank());
  const auto kernel = find_kernel("cumsum", x.device(), &KernelTable::cumsum);
  Tensor out = empty_like(x);
  kernel(x, d, out);
  if (tracks(x)) {
    record(out, "cumsum", {x}, [d](const Tensor& grad) -> Grads { return {flip(cumsum(flip(grad, {d}), d), {d})}; });
  }
  return out;
}

}  // namespace wick
