#include "ops/floor.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "tensor/create.h"

namespace wick {

Tensor floor(const Tensor& x) {
  Tensor out = apply_unary_any("floor", UnaryOp::kFloor, x);
  if (tracks(x)) {
    record(out, "floor", {x},
           [](const Tensor& grad) -> Grads { return {zeros(grad.shape(), grad.dtype(), grad.device())}; });
  }
  return out;
}

}  // namespace wick
