#include "ops/add.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"

namespace wick {

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("add", BinaryOp::kAdd, a, b);
  if (tracks(a, b)) {
    record(out, "add", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(grad, a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(grad, b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor add(const Tensor& a, double b) { return add(a, scalar_beside(a, b)); }

}  // namespace wick
