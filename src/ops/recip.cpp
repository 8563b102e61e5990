#include "ops/recip.h"

#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/mul.h"
#include "ops/neg.h"
#include "ops/sqr.h"

namespace wick {

Tensor recip(const Tensor& x) {
  Tensor out = apply_unary("recip", UnaryOp::kRecip, x);
  if (tracks(x)) {
    record(out, "recip", {x}, [out = out.detach()](const Tensor& grad) -> Grads { return {neg(mul(grad, sqr(out)))}; });
  }
  return out;
}

}  // namespace wick
