#include "ops/stack.h"

#include "ops/check.h"
#include "ops/concat.h"
#include "ops/unsqueeze.h"

namespace wick {

Tensor stack(const std::vector<Tensor>& parts, int64_t dim) {
  if (parts.empty()) throw Error(ErrorCode::kInvalidArgument, "stack: no tensors given");
  std::vector<Tensor> raised;
  for (const Tensor& part : parts) {
    check_defined("stack", part);
    check_same_device("stack", {&parts[0], &part});
    if (!(part.shape() == parts[0].shape())) {
      throw Error(ErrorCode::kShape, cat("stack: ", part.shape(), " beside ", parts[0].shape()));
    }
    raised.push_back(unsqueeze(part, normalize_dim("stack", dim, part.rank() + 1)));
  }
  return concat(raised, normalize_dim("stack", dim, parts[0].rank() + 1));
}

}  // namespace wick
