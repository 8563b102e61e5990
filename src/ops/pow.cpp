#include "ops/pow.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/elementwise.h"
#include "ops/eq.h"
#include "ops/gt.h"
#include "ops/log.h"
#include "ops/min.h"
#include "ops/mul.h"
#include "ops/sub.h"
#include "ops/where.h"

namespace wick {

Tensor pow(const Tensor& a, const Tensor& b) {
  check_defined("pow", a);
  check_defined("pow", b);
  if (is_integer(a.dtype()) && is_integer(b.dtype()) && b.numel() > 0) {
    const double least = min(b).item();
    if (least < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("pow: integers to the negative power ", least, "; convert to a float first"));
    }
  }
  Tensor out = apply_binary("pow", BinaryOp::kPow, a, b);
  if (tracks(a, b)) {
    record(out, "pow", {a, b}, [a, b, out = out.detach()](const Tensor& grad) -> Grads {
      Grads grads(2);
      if (a.requires_grad()) {
        // a^0 is flat, also at a = 0, where 0 * 0^-1 would be NaN.
        const Tensor slope = where(eq(b, 0), scalar_beside(out, 0), mul(b, pow(a, sub(b, 1))));
        grads[0] = sum_to(mul(grad, slope), a.shape());
      }
      if (b.requires_grad()) {
        // log(a) only where a > 0: 0^b has no slope in b, and negative bases none at all.
        const Tensor positive = gt(a, 0);
        const Tensor safe = where(positive, a, scalar_beside(a, 1));
        grads[1] = sum_to(mul(grad, mul(out, log(safe))), b.shape());
      }
      return grads;
    });
  }
  return out;
}

Tensor pow(const Tensor& a, double b) { return pow(a, scalar_beside(a, b)); }

}  // namespace wick
