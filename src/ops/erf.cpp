#include "ops/erf.h"

#include <cmath>
#include <numbers>

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/exp.h"
#include "ops/mul.h"
#include "ops/neg.h"
#include "ops/sqr.h"

namespace wick {

Tensor erf(const Tensor& x) {
  Tensor out = apply_unary("erf", UnaryOp::kErf, x);
  if (tracks(x)) {
    record(out, "erf", {x}, [x](const Tensor& grad) -> Grads {
      return {mul(grad, mul(exp(neg(sqr(x))), 2 / std::sqrt(std::numbers::pi)))};
    });
  }
  return out;
}

}  // namespace wick
