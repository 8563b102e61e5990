#include "ops/div.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"
#include "ops/neg.h"
#include "ops/sqr.h"

namespace wick {

Tensor div(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("div", BinaryOp::kDiv, a, b);
  if (tracks(a, b)) {
    record(out, "div", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(div(grad, b), a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(neg(div(mul(grad, a), sqr(b))), b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor div(const Tensor& a, double b) { return div(a, scalar_beside(a, b)); }

Tensor div(double a, const Tensor& b) { return div(scalar_beside(b, a), b); }

}  // namespace wick
