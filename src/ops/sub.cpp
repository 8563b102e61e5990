#include "ops/sub.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/neg.h"

namespace wick {

Tensor sub(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("sub", BinaryOp::kSub, a, b);
  if (tracks(a, b)) {
    record(out, "sub", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(grad, a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(neg(grad), b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor sub(const Tensor& a, double b) { return sub(a, scalar_beside(a, b)); }

Tensor sub(double a, const Tensor& b) { return sub(scalar_beside(b, a), b); }

}  // namespace wick
