#include "ops/sqrt.h"

#include "ops/autograd.h"
#include "ops/div.h"
#include "ops/elementwise.h"
#include "ops/mul.h"

namespace wick {

Tensor sqrt(const Tensor& x) {
  Tensor out = apply_unary("sqrt", UnaryOp::kSqrt, x);
  if (tracks(x)) {
    record(out, "sqrt", {x}, [out = out.detach()](const Tensor& grad) -> Grads { return {div(mul(grad, 0.5), out)}; });
  }
  return out;
}

}  // namespace wick
