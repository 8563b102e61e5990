#include "ops/conv_transpose2d.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/sum.h"

namespace wick {

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  const Conv2dParams params = conv_params(options);
  const Shape shape = conv_transpose_shape("conv_transpose2d", 4, x, weight, bias, params, options.output_padding);
  const auto kernel = find_kernel("conv_transpose2d", x.device(), &KernelTable::conv_transpose2d);
  Tensor out = empty(shape, promote(x.dtype(), weight.dtype()), x.device());
  kernel(x, weight, bias, params, out);
  if (tracks(x, weight, bias)) {
    // Seen from the gradient, x is the output of a convolution over the image `grad`.
    record(out, "conv_transpose2d", {x, weight, bias}, [x, weight, bias, params](const Tensor& grad) -> Grads {
      Grads grads(3);
      if (x.requires_grad()) {
        grads[0] = empty_like(x);
        find_kernel("conv_transpose2d", x.device(), &KernelTable::conv2d)(grad, weight, {}, params, grads[0]);
      }
      if (weight.requires_grad()) {
        grads[1] = empty_like(weight);
        find_kernel("conv_transpose2d", x.device(), &KernelTable::conv2d_weight_grad)(grad, x, params, grads[1]);
      }
      if (bias.requires_grad()) grads[2] = sum(grad, {0, 2, 3});
      return grads;
    });
  }
  return out;
}

}  // namespace wick
