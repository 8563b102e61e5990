#include "ops/argmax.h"

#include "ops/check.h"
#include "ops/reshape.h"

namespace wick {

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

}  // namespace wick
