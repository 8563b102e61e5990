#include "ops/max.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/div.h"
#include "ops/eq.h"
#include "ops/mul.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/sum.h"

namespace wick {

Tensor max(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("max", ReduceOp::kMax, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "max", {x}, [x, reduced](const Tensor& grad) -> Grads {
      const Tensor hits = eq(x, reduced.kept).to_dtype(grad.dtype());
      const Tensor share = div(reshape(grad, reduced.kept.shape()), sum(hits, reduced.dims, true));
      return {mul(hits, share)};
    });
  }
  return out;
}

Tensor max(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return max(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

}  // namespace wick
