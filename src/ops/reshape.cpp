#include "ops/reshape.h"

#include "base/checked.h"
#include "base/inline_vector.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/packed.h"

namespace wick {

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", x);
  if (shape.numel() != x.numel()) {
    throw Error(ErrorCode::kShape,
                cat("reshape: ", x.shape(), " has ", x.numel(), " elements, ", shape, " has ", shape.numel()));
  }
  const auto layout = x.layout().reshape(shape);
  Tensor out =
      view_blocks("reshape", layout ? x.detach() : x.detach().clone(), layout.value_or(Layout::contiguous(shape)));
  if (tracks(x)) {
    record(out, "reshape", {x}, [from = x.shape()](const Tensor& grad) -> Grads { return {reshape(grad, from)}; });
  }
  return out;
}

Tensor reshape(const Tensor& x, std::span<const int64_t> dims) {
  check_defined("reshape", x);
  InlineVector<int64_t, kMaxRank> sizes;
  int64_t known = 1;
  int unknown = -1;
  if (dims.size() > kMaxRank) {
    throw Error(ErrorCode::kShape, cat("reshape: rank ", dims.size(), ", the most is ", kMaxRank));
  }
  for (const int64_t size : dims) {
    if (size < -1) throw Error(ErrorCode::kInvalidArgument, cat("reshape: the size ", size, " is negative"));
    if (size != -1) {
      known = checked_mul(known, size).value_or(0);
    } else if (unknown >= 0) {
      throw Error(ErrorCode::kInvalidArgument, "reshape: only one size may be -1");
    } else {
      unknown = static_cast<int>(sizes.size());
    }
    sizes.push_back(size);
  }
  if (unknown >= 0) {
    if (known == 0 || x.numel() % known != 0) {
      throw Error(ErrorCode::kShape, cat("reshape: ", x.numel(), " elements of ", x.shape(),
                                         " do not divide by the other sizes, ", known));
    }
    sizes[unknown] = x.numel() / known;
  }
  return reshape(x, Shape(sizes));
}

Tensor reshape(const Tensor& x, std::initializer_list<int64_t> dims) {
  return reshape(x, std::span<const int64_t>(dims.begin(), dims.size()));
}

Tensor flatten(const Tensor& x, int64_t start, int64_t end) {
  check_defined("flatten", x);
  if (x.rank() == 0) return reshape(x, {1});
  const int first = normalize_dim("flatten", start, x.rank()), last = normalize_dim("flatten", end, x.rank());
  if (first > last) throw Error(ErrorCode::kInvalidArgument, cat("flatten: from dimension ", first, " to ", last));
  InlineVector<int64_t, kMaxRank> sizes;
  int64_t joined = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (d < first || d > last) {
      sizes.push_back(x.dim(d));
    } else {
      joined *= x.dim(d);
      if (d == last) sizes.push_back(joined);
    }
  }
  return reshape(x, Shape(sizes));
}

}  // namespace wick
