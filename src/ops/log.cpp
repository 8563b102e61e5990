#include "ops/log.h"

#include "ops/autograd.h"
#include "ops/div.h"
#include "ops/elementwise.h"

namespace wick {

Tensor log(const Tensor& x) {
  Tensor out = apply_unary("log", UnaryOp::kLog, x);
  if (tracks(x)) {
    record(out, "log", {x}, [x](const Tensor& grad) -> Grads { return {div(grad, x)}; });
  }
  return out;
}

}  // namespace wick
