#include "ops/round.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "tensor/create.h"

namespace wick {

Tensor round(const Tensor& x) {
  Tensor out = apply_unary_any("round", UnaryOp::kRound, x);
  if (tracks(x)) {
    record(out, "round", {x},
           [](const Tensor& grad) -> Grads { return {zeros(grad.shape(), grad.dtype(), grad.device())}; });
  }
  return out;
}

}  // namespace wick
