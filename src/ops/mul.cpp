#include "ops/mul.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"

namespace wick {

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("mul", BinaryOp::kMul, a, b);
  if (tracks(a, b)) {
    record(out, "mul", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(mul(grad, b), a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(mul(grad, a), b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor mul(const Tensor& a, double b) { return mul(a, scalar_beside(a, b)); }

}  // namespace wick
