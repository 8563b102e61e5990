#include "ops/tanh.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"
#include "ops/sqr.h"
#include "ops/sub.h"

namespace wick {

Tensor tanh(const Tensor& x) {
  Tensor out = apply_unary("tanh", UnaryOp::kTanh, x);
  if (tracks(x)) {
    record(out, "tanh", {x},
           [out = out.detach()](const Tensor& grad) -> Grads { return {mul(grad, sub(1, sqr(out)))}; });
  }
  return out;
}

}  // namespace wick
