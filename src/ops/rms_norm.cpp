#include "ops/rms_norm.h"

#include "ops/add.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/layer_norm.h"
#include "ops/mean.h"
#include "ops/mul.h"
#include "ops/recip.h"
#include "ops/sqr.h"
#include "ops/sqrt.h"
#include "ops/sub.h"

namespace wick {

Tensor rms_norm(const Tensor& x, const Tensor& weight, float eps) {
  check_float("rms_norm", x);
  if (x.rank() < 1) throw Error(ErrorCode::kShape, "rms_norm: a scalar has no last dimension");
  check_norm_vector("rms_norm", "weight", x, weight);
  const auto kernel = find_kernel("rms_norm", x.device(), &KernelTable::rms_norm);
  Tensor out = empty_like(x);
  kernel(x, weight, eps, out);
  if (tracks(x, weight)) {
    record(out, "rms_norm", {x, weight}, [x, weight, eps](const Tensor& grad) -> Grads {
      const Tensor inverse = recip(sqrt(add(mean(sqr(x), {-1}, true), eps)));
      const Tensor normal = mul(x, inverse);
      Grads grads(2);
      const Tensor g = weight.defined() ? mul(grad, weight) : grad;
      if (x.requires_grad()) grads[0] = mul(inverse, sub(g, mul(normal, mean(mul(g, normal), {-1}, true))));
      if (weight.requires_grad()) grads[1] = sum_to(mul(grad, normal), weight.shape());
      return grads;
    });
  }
  return out;
}

}  // namespace wick
