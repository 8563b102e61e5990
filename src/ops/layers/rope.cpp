#include "ops/layers/rope.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/unary.h"

namespace wick {

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved) {
  check_float("rope", x);
  check_rank("rope", "cos", cos, 2);
  check_rank("rope", "sin", sin, 2);
  check_same_device("rope", {&x, &cos, &sin});
  if (cos.dtype() != DType::kF32 || sin.dtype() != DType::kF32) {
    throw Error(ErrorCode::kDType, cat("rope: cos is ", cos.dtype(), " and sin ", sin.dtype(), ", expected f32"));
  }
  if (x.rank() < 2 || !(cos.shape() == sin.shape()) || cos.dim(0) != x.dim(-2) || cos.dim(1) * 2 > x.dim(-1)) {
    throw Error(ErrorCode::kShape, cat("rope: x ", x.shape(), " with cos ", cos.shape(), " and sin ", sin.shape(),
                                       ", expected [..., tokens, dim] and [tokens, up to dim / 2]"));
  }
  const auto kernel = find_kernel("rope", x.device(), &KernelTable::rope);
  Tensor out = empty_like(x);
  kernel(x, cos, sin, interleaved, out);
  if (tracks(x)) {
    record(out, "rope", {x}, [cos, sin, interleaved](const Tensor& grad) -> Grads {
      return {rope(grad, cos, neg(sin), interleaved)};  // turning back is the transpose of turning
    });
  }
  return out;
}

}  // namespace wick
