#include "ops/triu.h"

#include "ops/autograd.h"
#include "ops/check.h"

namespace wick {

Tensor triu(const Tensor& x, int64_t diagonal) {
  check_defined("triu", x);
  if (x.rank() < 2) throw Error(ErrorCode::kShape, cat("triu: ", x.shape(), " has fewer than two dimensions"));
  const auto kernel = find_kernel("triu", x.device(), &KernelTable::triangle);
  Tensor out = empty_like(x);
  kernel(Triangle::kUpper, x, diagonal, out);
  if (tracks(x)) {
    record(out, "triu", {x}, [diagonal](const Tensor& grad) -> Grads { return {triu(grad, diagonal)}; });
  }
  return out;
}

}  // namespace wick
