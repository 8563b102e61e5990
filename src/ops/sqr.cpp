#include "ops/sqr.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"

namespace wick {

Tensor sqr(const Tensor& x) {
  Tensor out = apply_unary_any("sqr", UnaryOp::kSqr, x);
  if (tracks(x)) {
    record(out, "sqr", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, mul(x, 2))}; });
  }
  return out;
}

}  // namespace wick
