#include "ops/sort.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/scatter.h"

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

}  // namespace wick
