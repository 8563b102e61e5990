#include "ops/pad.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/index_select.h"
#include "ops/narrow.h"

namespace wick {

namespace {

Tensor pad_zero(const Tensor& x, int d, int64_t left, int64_t right) {
  const auto copy = find_kernel("pad", x.device(), &KernelTable::copy);
  const int64_t size = x.dim(d);
  Tensor out = zeros(x.shape().with(d, left + size + right), x.dtype(), x.device());
  copy(x, narrow(out, d, left, size));
  if (tracks(x)) {
    record(out, "pad", {x}, [d, left, size](const Tensor& grad) -> Grads { return {narrow(grad, d, left, size)}; });
  }
  return out;
}

}  // namespace

Tensor pad(const Tensor& x, int64_t dim, int64_t left, int64_t right, PadMode mode) {
  check_defined("pad", x);
  const int d = normalize_dim("pad", dim, x.rank());
  const int64_t size = x.dim(d);
  const auto total = checked_add(left, right);
  if (left < 0 || right < 0 || !total || !checked_add(*total, size)) {
    throw Error(ErrorCode::kInvalidArgument, cat("pad: ", left, " before and ", right, " after dimension ", d));
  }
  if (mode == PadMode::kZero) return pad_zero(x, d, left, right);
  const bool reflect = mode == PadMode::kReflect;
  if (reflect ? std::max(left, right) >= size : size == 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("pad: ", left, " before and ", right, " after need more than the ",
                                                 size, " elements of dimension ", d, reflect ? " to reflect" : ""));
  }
  std::vector<int64_t> source;
  for (int64_t i = -left; i < size + right; ++i) {
    int64_t from = i;
    if (i < 0) from = reflect ? -i : 0;
    if (i >= size) from = reflect ? 2 * (size - 1) - i : size - 1;
    source.push_back(from);
  }
  const Shape count{static_cast<int64_t>(source.size())};
  return index_select(x, d, from_vector(source, count, x.device()));
}

}  // namespace wick
