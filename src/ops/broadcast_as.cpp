#include "ops/broadcast_as.h"

#include "ops/autograd.h"
#include "ops/check.h"

namespace wick {

Tensor broadcast_as(const Tensor& x, const Shape& shape) {
  check_defined("broadcast_as", x);
  Tensor out = broadcast_view("broadcast_as", x, shape);
  if (tracks(x)) {
    record(out, "broadcast_as", {x}, [from = x.shape()](const Tensor& grad) -> Grads { return {sum_to(grad, from)}; });
  }
  return out;
}

}  // namespace wick
