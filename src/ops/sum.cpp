#include "ops/sum.h"

#include "ops/autograd.h"
#include "ops/broadcast_as.h"
#include "ops/check.h"
#include "ops/reduce.h"
#include "ops/reshape.h"

namespace wick {

Tensor sum(const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const Reduced reduced = apply_reduce("sum", ReduceOp::kSum, x, dims, keepdim);
  Tensor out = reshape(reduced.kept, reduced.final_shape);
  if (tracks(x)) {
    record(out, "sum", {x}, [from = x.shape(), kept = reduced.kept.shape()](const Tensor& grad) -> Grads {
      return {broadcast_as(reshape(grad, kept), from)};
    });
  }
  return out;
}

Tensor sum(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim) {
  return sum(x, std::span<const int64_t>(dims.begin(), dims.size()), keepdim);
}

}  // namespace wick
