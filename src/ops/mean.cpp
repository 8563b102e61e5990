#include "ops/mean.h"

#include "ops/autograd.h"
#include "ops/broadcast_as.h"
#include "ops/check.h"
#include "ops/div.h"
#include "ops/reduce.h"
#include "ops/reshape.h"

namespace wick {

Tensor mean(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("mean", ReduceOp::kMean, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "mean", {x}, [from = x.shape(), reduced](const Tensor& grad) -> Grads {
      const Tensor share = div(reshape(grad, reduced.kept.shape()), static_cast<double>(reduced.count));
      return {broadcast_as(share, from)};
    });
  }
  return out;
}

Tensor mean(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return mean(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

}  // namespace wick
