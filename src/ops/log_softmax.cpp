#include "ops/log_softmax.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/exp.h"
#include "ops/mul.h"
#include "ops/sub.h"
#include "ops/sum.h"

namespace wick {

Tensor log_softmax(const Tensor& x, int64_t dim) {
  check_float("log_softmax", x);
  const int d = normalize_dim("log_softmax", dim, x.rank());
  const auto kernel = find_kernel("log_softmax", x.device(), &KernelTable::log_softmax);
  Tensor out = empty_like(x);
  kernel(x, d, out);
  if (tracks(x)) {
    record(out, "log_softmax", {x}, [d, out = out.detach()](const Tensor& grad) -> Grads {
      return {sub(grad, mul(exp(out), sum(grad, {d}, true)))};
    });
  }
  return out;
}

}  // namespace wick
