#include "ops/scatter.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/gather.h"

namespace wick {

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  check_defined("scatter", x);
  check_defined("scatter", src);
  check_same_device("scatter", {&x, &index, &src});
  const int d = normalize_dim("scatter", dim, x.rank());
  const auto kernel = find_kernel("scatter", x.device(), &KernelTable::scatter);
  const Tensor places = checked_indices("scatter", index, x.dim(d));
  check_index_shape("scatter", x.shape(), index.shape(), d);
  if (!(src.shape() == index.shape())) {
    throw Error(ErrorCode::kShape, cat("scatter: source ", src.shape(), " for an index of shape ", index.shape()));
  }
  Tensor out = x.detach().clone();
  kernel(out, d, places, as_dtype(src, x.dtype()));
  if (tracks(x, src)) {
    record(out, "scatter", {x, src}, [d, places](const Tensor& grad) -> Grads {
      return {scatter(grad, d, places, zeros(places.shape(), grad.dtype(), grad.device())), gather(grad, d, places)};
    });
  }
  return out;
}

}  // namespace wick
