#include "ops/softplus.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"
#include "ops/sigmoid.h"

namespace wick {

Tensor softplus(const Tensor& x) {
  Tensor out = apply_unary("softplus", UnaryOp::kSoftplus, x);
  if (tracks(x)) {
    record(out, "softplus", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, sigmoid(x))}; });
  }
  return out;
}

}  // namespace wick
