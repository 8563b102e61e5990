#include "ops/index_select.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/index_add.h"

namespace wick {

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined("index_select", x);
  check_rank("index_select", "index", index, 1);
  check_same_device("index_select", {&x, &index});
  const int d = normalize_dim("index_select", dim, x.rank());
  const auto kernel = find_kernel("index_select", x.device(), &KernelTable::index_select);
  const Tensor places = checked_indices("index_select", index, x.dim(d));
  Tensor out = empty(x.shape().with(d, index.numel()), x.dtype(), x.device());
  kernel(x, d, places, out);
  if (tracks(x)) {
    record(out, "index_select", {x}, [from = x.shape(), d, places](const Tensor& grad) -> Grads {
      return {index_add(zeros(from, grad.dtype(), grad.device()), d, places, grad)};
    });
  }
  return out;
}

}  // namespace wick
