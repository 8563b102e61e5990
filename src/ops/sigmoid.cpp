#include "ops/sigmoid.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"
#include "ops/sub.h"

namespace wick {

Tensor sigmoid(const Tensor& x) {
  Tensor out = apply_unary("sigmoid", UnaryOp::kSigmoid, x);
  if (tracks(x)) {
    record(out, "sigmoid", {x},
           [out = out.detach()](const Tensor& grad) -> Grads { return {mul(grad, mul(out, sub(1, out)))}; });
  }
  return out;
}

}  // namespace wick
