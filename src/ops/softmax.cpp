#include "ops/softmax.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/mul.h"
#include "ops/sub.h"
#include "ops/sum.h"

namespace wick {

Tensor softmax(const Tensor& x, int64_t dim) {
  check_float("softmax", x);
  const int d = normalize_dim("softmax", dim, x.rank());
  const auto kernel = find_kernel("softmax", x.device(), &KernelTable::softmax);
  Tensor out = empty_like(x);
  kernel(x, d, out);
  if (tracks(x)) {
    record(out, "softmax", {x}, [d, out = out.detach()](const Tensor& grad) -> Grads {
      return {mul(out, sub(grad, sum(mul(grad, out), {d}, true)))};
    });
  }
  return out;
}

}  // namespace wick
