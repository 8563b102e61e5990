#include "ops/compare.h"

#include "ops/apply.h"
#include "ops/autograd.h"
#include "ops/check.h"

namespace wick {

Tensor eq(const Tensor& a, const Tensor& b) { return apply_compare("eq", CompareOp::kEq, a, b); }
Tensor eq(const Tensor& a, double b) { return eq(a, scalar_beside(a, b)); }

Tensor ne(const Tensor& a, const Tensor& b) { return apply_compare("ne", CompareOp::kNe, a, b); }
Tensor ne(const Tensor& a, double b) { return ne(a, scalar_beside(a, b)); }

Tensor lt(const Tensor& a, const Tensor& b) { return apply_compare("lt", CompareOp::kLt, a, b); }
Tensor lt(const Tensor& a, double b) { return lt(a, scalar_beside(a, b)); }

Tensor le(const Tensor& a, const Tensor& b) { return apply_compare("le", CompareOp::kLe, a, b); }
Tensor le(const Tensor& a, double b) { return le(a, scalar_beside(a, b)); }

Tensor gt(const Tensor& a, const Tensor& b) { return apply_compare("gt", CompareOp::kGt, a, b); }
Tensor gt(const Tensor& a, double b) { return gt(a, scalar_beside(a, b)); }

Tensor ge(const Tensor& a, const Tensor& b) { return apply_compare("ge", CompareOp::kGe, a, b); }
Tensor ge(const Tensor& a, double b) { return ge(a, scalar_beside(a, b)); }

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
