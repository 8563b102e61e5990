#include "ops/layer_norm.h"

#include "ops/add.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/mean.h"
#include "ops/mul.h"
#include "ops/recip.h"
#include "ops/sqr.h"
#include "ops/sqrt.h"
#include "ops/sub.h"
#include "ops/var.h"

namespace wick {

void check_norm_vector(const char* op, const char* what, const Tensor& x, const Tensor& vector) {
  if (!vector.defined()) return;
  check_float(op, vector);
  check_same_device(op, {&x, &vector});
  if (vector.rank() != 1 || vector.dim(0) != x.dim(-1)) {
    throw Error(ErrorCode::kShape, cat(op, ": ", what, " ", vector.shape(), " for the last dimension of ", x.shape()));
  }
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  check_float("layer_norm", x);
  if (x.rank() < 1) throw Error(ErrorCode::kShape, "layer_norm: a scalar has no last dimension");
  check_norm_vector("layer_norm", "weight", x, weight);
  check_norm_vector("layer_norm", "bias", x, bias);
  const auto kernel = find_kernel("layer_norm", x.device(), &KernelTable::layer_norm);
  Tensor out = empty_like(x);
  kernel(x, weight, bias, eps, out);
  if (tracks(x, weight, bias)) {
    record(out, "layer_norm", {x, weight, bias}, [x, weight, bias, eps](const Tensor& grad) -> Grads {
      const Tensor centred = sub(x, mean(x, {-1}, true));
      const Tensor inverse = recip(sqrt(add(var(x, {-1}, 0, true), eps)));
      const Tensor normal = mul(centred, inverse);
      Grads grads(3);
      const Tensor g = weight.defined() ? mul(grad, weight) : grad;
      const Tensor along = mul(normal, mean(mul(g, normal), {-1}, true));
      if (x.requires_grad()) grads[0] = mul(inverse, sub(sub(g, mean(g, {-1}, true)), along));
      if (weight.requires_grad()) grads[1] = sum_to(mul(grad, normal), weight.shape());
      if (bias.requires_grad()) grads[2] = sum_to(grad, bias.shape());
      return grads;
    });
  }
  return out;
}

}  // namespace wick
