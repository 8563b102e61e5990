#include "ops/var.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/mean.h"
#include "ops/mul.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/sub.h"

namespace wick {

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

}  // namespace wick
