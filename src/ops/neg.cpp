#include "ops/neg.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"

namespace wick {

Tensor neg(const Tensor& x) {
  Tensor out = apply_unary_any("neg", UnaryOp::kNeg, x);
  if (tracks(x)) {
    record(out, "neg", {x}, [](const Tensor& grad) -> Grads { return {neg(grad)}; });
  }
  return out;
}

}  // namespace wick
