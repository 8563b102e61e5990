#include "ops/index_add.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/index_select.h"

namespace wick {

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  check_defined("index_add", x);
  check_defined("index_add", src);
  check_rank("index_add", "index", index, 1);
  check_same_device("index_add", {&x, &index, &src});
  const int d = normalize_dim("index_add", dim, x.rank());
  const auto kernel = find_kernel("index_add", x.device(), &KernelTable::index_add);
  if (src.rank() != x.rank() || !(src.shape() == x.shape().with(d, index.numel()))) {
    throw Error(ErrorCode::kShape,
                cat("index_add: source ", src.shape(), " for ", index.numel(), " slices of ", x.shape()));
  }
  const Tensor places = checked_indices("index_add", index, x.dim(d));
  Tensor out = x.detach().clone();
  kernel(out, d, places, as_dtype(src, x.dtype()));
  if (tracks(x, src)) {
    record(out, "index_add", {x, src}, [d, places](const Tensor& grad) -> Grads {
      return {grad, index_select(grad, d, places)};
    });
  }
  return out;
}

}  // namespace wick
