#include "ops/silu.h"

#include "ops/add.h"
#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"
#include "ops/sigmoid.h"
#include "ops/sub.h"

namespace wick {

Tensor silu(const Tensor& x) {
  Tensor out = apply_unary("silu", UnaryOp::kSilu, x);
  if (tracks(x)) {
    record(out, "silu", {x}, [x](const Tensor& grad) -> Grads {
      const Tensor s = sigmoid(x);
      return {mul(grad, mul(s, add(mul(x, sub(1, s)), 1)))};
    });
  }
  return out;
}

}  // namespace wick
