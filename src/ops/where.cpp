#include "ops/where.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/ne.h"

namespace wick {

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_defined("where", condition);
  check_defined("where", a);
  check_defined("where", b);
  check_same_device("where", {&condition, &a, &b});
  const auto kernel = find_kernel("where", a.device(), &KernelTable::where);
  const Tensor mask = condition.dtype() == DType::kU8 ? condition : ne(condition, 0);
  const Shape shape = broadcast_shapes("where", mask.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  const DType dtype = promote(a.dtype(), b.dtype());
  Tensor out = empty(shape, dtype, a.device());
  kernel(broadcast_view("where", mask, shape), broadcast_view("where", as_dtype(a, dtype), shape),
         broadcast_view("where", as_dtype(b, dtype), shape), out);
  if (tracks(a, b)) {
    record(out, "where", {a, b}, [mask, a, b](const Tensor& grad) -> Grads {
      const Tensor zero = scalar(0, grad.dtype(), grad.device());
      return {a.requires_grad() ? sum_to(where(mask, grad, zero), a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(where(mask, zero, grad), b.shape()) : Tensor()};
    });
  }
  return out;
}

}  // namespace wick
