#include "ops/narrow.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/packed.h"

namespace wick {

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  check_defined("narrow", x);
  const int d = normalize_dim("narrow", dim, x.rank());
  if (start < 0 || length < 0 || start > x.dim(d) || length > x.dim(d) - start) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("narrow: ", length, " elements from ", start, " of dimension ", d, " of ", x.shape()));
  }
  Tensor out = view_blocks("narrow", x, x.layout().narrow(d, start, length));
  if (tracks(x)) {
    record(out, "narrow", {x}, [from = x.shape(), d, start, length](const Tensor& grad) -> Grads {
      Tensor whole = zeros(from, grad.dtype(), grad.device());
      find_kernel("narrow", grad.device(), &KernelTable::copy)(grad, narrow(whole, d, start, length));
      return {whole};
    });
  }
  return out;
}

}  // namespace wick
