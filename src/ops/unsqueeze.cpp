#include "ops/unsqueeze.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/squeeze.h"

namespace wick {

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  check_defined("unsqueeze", x);
  const int d = normalize_dim("unsqueeze", dim, x.rank() + 1);
  if (x.rank() == kMaxRank) {
    throw Error(ErrorCode::kShape, cat("unsqueeze: ", x.shape(), " already has the highest rank, ", kMaxRank));
  }
  Tensor out = x.with_layout(x.layout().unsqueeze(d));
  if (tracks(x)) {
    record(out, "unsqueeze", {x}, [d](const Tensor& grad) -> Grads { return {squeeze(grad, d)}; });
  }
  return out;
}

}  // namespace wick
