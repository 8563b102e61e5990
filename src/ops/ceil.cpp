#include "ops/ceil.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "tensor/create.h"

namespace wick {

Tensor ceil(const Tensor& x) {
  Tensor out = apply_unary_any("ceil", UnaryOp::kCeil, x);
  if (tracks(x)) {
    record(out, "ceil", {x},
           [](const Tensor& grad) -> Grads { return {zeros(grad.shape(), grad.dtype(), grad.device())}; });
  }
  return out;
}

}  // namespace wick
