#include "ops/scatter_add.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/gather.h"

namespace wick {

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  check_defined("scatter_add", x);
  check_defined("scatter_add", src);
  check_same_device("scatter_add", {&x, &index, &src});
  const int d = normalize_dim("scatter_add", dim, x.rank());
  const auto kernel = find_kernel("scatter_add", x.device(), &KernelTable::scatter_add);
  const Tensor places = checked_indices("scatter_add", index, x.dim(d));
  check_index_shape("scatter_add", x.shape(), index.shape(), d);
  if (!(src.shape() == index.shape())) {
    throw Error(ErrorCode::kShape, cat("scatter_add: source ", src.shape(), " for an index of shape ", index.shape()));
  }
  Tensor out = x.detach().clone();
  kernel(out, d, places, as_dtype(src, x.dtype()));
  if (tracks(x, src)) {
    record(out, "scatter_add", {x, src}, [d, places](const Tensor& grad) -> Grads {
      return {grad, gather(grad, d, places)};
    });
  }
  return out;
}

}  // namespace wick
