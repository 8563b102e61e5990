#include "ops/maximum.h"

#include "ops/add.h"
#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/eq.h"
#include "ops/gt.h"
#include "ops/mul.h"
#include "ops/sub.h"

namespace wick {

Tensor maximum(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("maximum", BinaryOp::kMaximum, a, b);
  if (tracks(a, b)) {
    record(out, "maximum", {a, b}, [a, b](const Tensor& grad) -> Grads {
      const Tensor wins = gt(a, b).to_dtype(grad.dtype()), ties = eq(a, b).to_dtype(grad.dtype());
      const Tensor share = add(wins, mul(ties, 0.5));
      return {sum_to(mul(grad, share), a.shape()), sum_to(mul(grad, sub(1, share)), b.shape())};
    });
  }
  return out;
}

Tensor maximum(const Tensor& a, double b) { return maximum(a, scalar_beside(a, b)); }

}  // namespace wick
