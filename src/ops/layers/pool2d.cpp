#include "ops/layers/pool2d.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/index.h"
#include "ops/view.h"

namespace wick {

Shape pool_shape(const char* op, const Tensor& x, const Pool2dParams& p) {
  check_float(op, x);
  check_rank(op, "x", x, 4);
  if (p.kernel_h < 1 || p.kernel_w < 1 || p.stride_h < 1 || p.stride_w < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": kernel ", p.kernel_h, " x ", p.kernel_w, ", stride ",
                                                 p.stride_h, " x ", p.stride_w, ": all must be at least 1"));
  }
  if (p.kernel_h > x.dim(2) || p.kernel_w > x.dim(3)) {
    throw Error(ErrorCode::kShape,
                cat(op, ": x ", x.shape(), " is smaller than the kernel ", p.kernel_h, " x ", p.kernel_w));
  }
  return {x.dim(0), x.dim(1), (x.dim(2) - p.kernel_h) / p.stride_h + 1, (x.dim(3) - p.kernel_w) / p.stride_w + 1};
}

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
