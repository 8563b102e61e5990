#include "ops/cos.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"
#include "ops/neg.h"
#include "ops/sin.h"

namespace wick {

Tensor cos(const Tensor& x) {
  Tensor out = apply_unary("cos", UnaryOp::kCos, x);
  if (tracks(x)) {
    record(out, "cos", {x}, [x](const Tensor& grad) -> Grads { return {neg(mul(grad, sin(x)))}; });
  }
  return out;
}

}  // namespace wick
