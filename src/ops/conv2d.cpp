#include "ops/conv2d.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/sum.h"

namespace wick {

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const Conv2dParams params = conv_params(options);
  const Shape shape = conv_shape("conv2d", 4, x, weight, bias, params);
  const auto kernel = find_kernel("conv2d", x.device(), &KernelTable::conv2d);
  Tensor out = empty(shape, promote(x.dtype(), weight.dtype()), x.device());
  kernel(x, weight, bias, params, out);
  if (tracks(x, weight, bias)) {
    record(out, "conv2d", {x, weight, bias}, [x, weight, bias, params](const Tensor& grad) -> Grads {
      Grads grads(3);
      if (x.requires_grad()) {
        grads[0] = empty_like(x);
        find_kernel("conv2d", x.device(), &KernelTable::conv_transpose2d)(grad, weight, {}, params, grads[0]);
      }
      if (weight.requires_grad()) {
        grads[1] = empty_like(weight);
        find_kernel("conv2d", x.device(), &KernelTable::conv2d_weight_grad)(x, grad, params, grads[1]);
      }
      if (bias.requires_grad()) grads[2] = sum(grad, {0, 2, 3});
      return grads;
    });
  }
  return out;
}

}  // namespace wick
