#include "ops/sort.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/index.h"

namespace wick {

Sorted sort(const Tensor& x, int64_t dim, bool descending) {
  check_defined("sort", x);
  const int d = normalize_dim("sort", dim, x.rank());
  const auto kernel = find_kernel("sort", x.device(), &KernelTable::sort);
  Sorted out{empty_like(x), empty(x.shape(), DType::kI64, x.device())};
  kernel(x, d, descending, out.values, out.indices);
  if (tracks(x)) {
    record(out.values, "sort", {x}, [from = x.shape(), d, places = out.indices](const Tensor& grad) -> Grads {
      return {scatter(zeros(from, grad.dtype(), grad.device()), d, places, grad)};
    });
  }
  return out;
}

Sorted topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  check_defined("topk", x);
  const int d = normalize_dim("topk", dim, x.rank());
  if (k < 0 || k > x.dim(d)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("topk: k is ", k, " but dimension ", d, " of ", x.shape(), " has size ", x.dim(d)));
  }
  const auto kernel = find_kernel("topk", x.device(), &KernelTable::topk);
  const Shape shape = x.shape().with(d, k);
  Sorted out{empty(shape, x.dtype(), x.device()), empty(shape, DType::kI64, x.device())};
  kernel(x, d, largest, out.values, out.indices);
  if (tracks(x)) {
    record(out.values, "topk", {x}, [from = x.shape(), d, places = out.indices](const Tensor& grad) -> Grads {
      return {scatter(zeros(from, grad.dtype(), grad.device()), d, places, grad)};
    });
  }
  return out;
}

}  // namespace wick
