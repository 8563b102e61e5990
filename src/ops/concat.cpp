#include "ops/concat.h"

#include "base/checked.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/narrow.h"

namespace wick {

Tensor concat(const std::vector<Tensor>& parts, int64_t dim) {
  if (parts.empty()) throw Error(ErrorCode::kInvalidArgument, "concat: no tensors given");
  for (const Tensor& part : parts) {
    check_defined("concat", part);
    check_same_device("concat", {&parts[0], &part});
  }
  const int d = normalize_dim("concat", dim, parts[0].rank());
  DType dtype = parts[0].dtype();
  int64_t total = 0;
  bool any_tracks = false;
  for (const Tensor& part : parts) {
    if (part.rank() != parts[0].rank() || !(part.shape().with(d, 0) == parts[0].shape().with(d, 0))) {
      throw Error(ErrorCode::kShape,
                  cat("concat: ", part.shape(), " beside ", parts[0].shape(), ": only dimension ", d, " may differ"));
    }
    dtype = promote(dtype, part.dtype());
    total = checked_add(total, part.dim(d)).value_or(INT64_MAX);
    any_tracks = any_tracks || tracks(part);
  }
  const auto copy = find_kernel("concat", parts[0].device(), &KernelTable::copy);
  Tensor out = empty(parts[0].shape().with(d, total), dtype, parts[0].device());
  int64_t start = 0;
  for (const Tensor& part : parts) {
    copy(part, narrow(out, d, start, part.dim(d)));
    start += part.dim(d);
  }
  if (any_tracks) {
    record(out, "concat", parts, [parts, d](const Tensor& grad) -> Grads {
      Grads grads;
      int64_t start = 0;
      for (const Tensor& part : parts) {
        grads.push_back(narrow(grad, d, start, part.dim(d)));
        start += part.dim(d);
      }
      return grads;
    });
  }
  return out;
}

}  // namespace wick
