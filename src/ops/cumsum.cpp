#include "ops/cumsum.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/flip.h"

namespace wick {

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
