#include "ops/avg_pool2d.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/pool.h"

namespace wick {

Tensor avg_pool2d(const Tensor& x, Pair2d kernel) { return avg_pool2d(x, kernel, kernel); }

Tensor avg_pool2d(const Tensor& x, Pair2d window, Pair2d stride) {
  const Pool2dParams params{window.h, window.w, stride.h, stride.w};
  const Shape shape = pool_shape("avg_pool2d", x, params);
  const auto kernel = find_kernel("avg_pool2d", x.device(), &KernelTable::avg_pool2d);
  Tensor out = empty(shape, x.dtype(), x.device());
  kernel(x, params, out);
  if (tracks(x)) {
    record(out, "avg_pool2d", {x}, [x, params](const Tensor& grad) -> Grads {
      Tensor spread = empty_like(x);
      find_kernel("avg_pool2d", x.device(), &KernelTable::avg_pool2d_grad)(grad, params, spread);
      return {spread};
    });
  }
  return out;
}

}  // namespace wick
