#include "ops/min.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/div.h"
#include "ops/eq.h"
#include "ops/mul.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/sum.h"

namespace wick {

Tensor min(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("min", ReduceOp::kMin, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "min", {x}, [x, reduced](const Tensor& grad) -> Grads {
      const Tensor hits = eq(x, reduced.kept).to_dtype(grad.dtype());
      const Tensor share = div(reshape(grad, reduced.kept.shape()), sum(hits, reduced.dims, true));
      return {mul(hits, share)};
    });
  }
  return out;
}

Tensor min(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return min(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

}  // namespace wick
