#include "ops/exp.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"

namespace wick {

Tensor exp(const Tensor& x) {
  Tensor out = apply_unary("exp", UnaryOp::kExp, x);
  if (tracks(x)) {
    record(out, "exp", {x}, [out = out.detach()](const Tensor& grad) -> Grads { return {mul(grad, out)}; });
  }
  return out;
}

}  // namespace wick
