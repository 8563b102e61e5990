#include "ops/tril.h"

#include "ops/autograd.h"
#include "ops/check.h"

namespace wick {

Tensor tril(const Tensor& x, int64_t diagonal) {
  check_defined("tril", x);
  if (x.rank() < 2) throw Error(ErrorCode::kShape, cat("tril: ", x.shape(), " has fewer than two dimensions"));
  const auto kernel = find_kernel("tril", x.device(), &KernelTable::triangle);
  Tensor out = empty_like(x);
  kernel(Triangle::kLower, x, diagonal, out);
  if (tracks(x)) {
    record(out, "tril", {x}, [diagonal](const Tensor& grad) -> Grads { return {tril(grad, diagonal)}; });
  }
  return out;
}

}  // namespace wick
