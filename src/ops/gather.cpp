#include "ops/gather.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/scatter_add.h"

namespace wick {

void check_index_shape(const char* op, const Shape& x, const Shape& index, int dim) {
  bool fits = x.rank() == index.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == dim || index[d] <= x[d];
  if (!fits) {
    throw Error(ErrorCode::kShape,
                cat(op, ": index ", index, " does not fit ", x, " (only dimension ", dim, " may be larger)"));
  }
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined("gather", x);
  check_same_device("gather", {&x, &index});
  const int d = normalize_dim("gather", dim, x.rank());
  const auto kernel = find_kernel("gather", x.device(), &KernelTable::gather);
  const Tensor places = checked_indices("gather", index, x.dim(d));
  check_index_shape("gather", x.shape(), index.shape(), d);
  Tensor out = empty(index.shape(), x.dtype(), x.device());
  kernel(x, d, places, out);
  if (tracks(x)) {
    record(out, "gather", {x}, [from = x.shape(), d, places](const Tensor& grad) -> Grads {
      return {scatter_add(zeros(from, grad.dtype(), grad.device()), d, places, grad)};
    });
  }
  return out;
}

}  // namespace wick
