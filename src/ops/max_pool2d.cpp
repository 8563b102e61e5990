#include "ops/max_pool2d.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/pool.h"
#include "ops/reshape.h"
#include "ops/scatter_add.h"

namespace wick {

Tensor max_pool2d(const Tensor& x, Pair2d kernel) { return max_pool2d(x, kernel, kernel); }

Tensor max_pool2d(const Tensor& x, Pair2d window, Pair2d stride) {
  const Pool2dParams params{window.h, window.w, stride.h, stride.w};
  const Shape shape = pool_shape("max_pool2d", x, params);
  const auto kernel = find_kernel("max_pool2d", x.device(), &KernelTable::max_pool2d);
  Tensor out = empty(shape, x.dtype(), x.device());
  const Tensor places = empty(shape, DType::kI64, x.device());  // h * width + w in each plane
  kernel(x, params, out, places);
  if (tracks(x)) {
    record(out, "max_pool2d", {x}, [x, places](const Tensor& grad) -> Grads {
      const Tensor planes = zeros({x.dim(0), x.dim(1), x.dim(2) * x.dim(3)}, grad.dtype(), grad.device());
      return {reshape(scatter_add(planes, 2, flatten(places, 2, 3), flatten(grad, 2, 3)), x.shape())};
    });
  }
  return out;
}

}  // namespace wick
