#include "ops/abs.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/gt.h"
#include "ops/lt.h"
#include "ops/mul.h"
#include "ops/sub.h"

namespace wick {

Tensor abs(const Tensor& x) {
  Tensor out = apply_unary_any("abs", UnaryOp::kAbs, x);
  if (tracks(x)) {
    record(out, "abs", {x}, [x](const Tensor& grad) -> Grads {
      return {mul(grad, sub(gt(x, 0).to_dtype(x.dtype()), lt(x, 0).to_dtype(x.dtype())))};
    });
  }
  return out;
}

}  // namespace wick
