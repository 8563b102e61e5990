#include "ops/squeeze.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/unsqueeze.h"

namespace wick {

Tensor squeeze(const Tensor& x, int64_t dim) {
  check_defined("squeeze", x);
  const int d = normalize_dim("squeeze", dim, x.rank());
  if (x.dim(d) != 1) {
    throw Error(ErrorCode::kShape, cat("squeeze: dimension ", d, " of ", x.shape(), " has size ", x.dim(d), ", not 1"));
  }
  Tensor out = x.with_layout(x.layout().squeeze(d));
  if (tracks(x)) {
    record(out, "squeeze", {x}, [d](const Tensor& grad) -> Grads { return {unsqueeze(grad, d)}; });
  }
  return out;
}

}  // namespace wick
