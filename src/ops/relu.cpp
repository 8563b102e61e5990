#include "ops/relu.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/gt.h"
#include "ops/mul.h"

namespace wick {

Tensor relu(const Tensor& x) {
  Tensor out = apply_unary_any("relu", UnaryOp::kRelu, x);
  if (tracks(x)) {
    record(out, "relu", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, gt(x, 0).to_dtype(x.dtype()))}; });
  }
  return out;
}

}  // namespace wick
