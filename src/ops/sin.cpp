#include "ops/sin.h"

#include "ops/autograd.h"
#include "ops/cos.h"
#include "ops/elementwise.h"
#include "ops/mul.h"

namespace wick {

Tensor sin(const Tensor& x) {
  Tensor out = apply_unary("sin", UnaryOp::kSin, x);
  if (tracks(x)) {
    record(out, "sin", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, cos(x))}; });
  }
  return out;
}

}  // namespace wick
