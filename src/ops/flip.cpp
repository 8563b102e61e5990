#include "ops/flip.h"

#include "ops/autograd.h"
#include "ops/check.h"

namespace wick {

Tensor flip(const Tensor& x, const std::vector<int64_t>& dims) {
  check_defined("flip", x);
  if (is_packed(x.dtype())) throw Error(ErrorCode::kDType, cat("flip: ", packed_dtype_error(x.dtype()).what()));
  Layout layout = x.layout();
  std::array<bool, kMaxRank> done{};
  for (const int64_t dim : dims) {
    const int d = normalize_dim("flip", dim, x.rank());
    if (done[d]) throw Error(ErrorCode::kInvalidArgument, cat("flip: dimension ", d, " is given twice"));
    done[d] = true;
    layout = layout.flip(d);
  }
  Tensor out = empty_like(x);
  find_kernel("flip", x.device(), &KernelTable::copy)(x.with_layout(layout), out);
  if (tracks(x)) {
    record(out, "flip", {x}, [dims](const Tensor& grad) -> Grads { return {flip(grad, dims)}; });
  }
  return out;
}

}  // namespace wick
