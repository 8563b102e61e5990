#include "ops/permute.h"

#include <array>

#include "base/inline_vector.h"
#include "ops/autograd.h"
#include "ops/check.h"

namespace wick {

Tensor permute(const Tensor& x, std::span<const int64_t> dims) {
  check_defined("permute", x);
  InlineVector<int, kMaxRank> order;
  std::array<int64_t, kMaxRank> inverse;
  inverse.fill(-1);
  for (const int64_t dim : dims) {
    const int d = normalize_dim("permute", dim, x.rank());
    if (inverse[d] != -1) throw Error(ErrorCode::kInvalidArgument, cat("permute: dimension ", d, " is given twice"));
    inverse[d] = static_cast<int64_t>(order.size());
    order.push_back(d);
  }
  if (static_cast<int>(order.size()) != x.rank()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("permute: ", order.size(), " dimensions for a tensor of rank ", x.rank()));
  }
  Tensor out = x.with_layout(x.layout().permute(order));
  if (tracks(x)) {
    record(out, "permute", {x}, [inverse](const Tensor& grad) -> Grads {
      return {permute(grad, std::span<const int64_t>(inverse.data(), grad.rank()))};
    });
  }
  return out;
}

Tensor permute(const Tensor& x, std::initializer_list<int64_t> dims) {
  return permute(x, std::span<const int64_t>(dims.begin(), dims.size()));
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  check_defined("transpose", x);
  const int a = normalize_dim("transpose", dim0, x.rank()), b = normalize_dim("transpose", dim1, x.rank());
  Tensor out = x.with_layout(x.layout().transpose(a, b));
  if (tracks(x)) {
    record(out, "transpose", {x}, [a, b](const Tensor& grad) -> Grads { return {transpose(grad, a, b)}; });
  }
  return out;
}

}  // namespace wick
