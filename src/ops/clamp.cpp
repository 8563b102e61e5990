#include "ops/clamp.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/eq.h"
#include "ops/mul.h"

namespace wick {

Tensor clamp(const Tensor& x, double low, double high) {
  check_defined("clamp", x);
  if (!(low <= high)) throw Error(ErrorCode::kInvalidArgument, cat("clamp: low ", low, " is not below high ", high));
  const auto kernel = find_kernel("clamp", x.device(), &KernelTable::clamp);
  Tensor out = empty_like(x);
  kernel(x, low, high, out);
  if (tracks(x)) {
    record(out, "clamp", {x}, [x, out = out.detach()](const Tensor& grad) -> Grads {
      return {mul(grad, eq(x, out).to_dtype(grad.dtype()))};  // untouched values pass the gradient on
    });
  }
  return out;
}

}  // namespace wick
