#include "ops/argmin.h"

#include "ops/check.h"
#include "ops/reshape.h"

namespace wick {

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

}  // namespace wick
