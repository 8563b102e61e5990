#include "ops/rearrange.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/index.h"
#include "ops/view.h"

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

Tensor tril(const Tensor& x, int64_t diagonal) {
  check_defined("tril", x);
  if (x.rank() < 2) throw Error(ErrorCode::kShape, cat("tril: ", x.shape(), " has fewer than two dimensions"));
  const auto kernel = find_kernel("tril", x.device(), &KernelTable::triangle);
  Tensor out = empty_like(x);
  kernel(Triangle::kLower, x, diagonal, out);
  if (tracks(x)) {
    record(out, "tril", {x}, [diagonal](const Tensor& grad) -> Grads { return {tril(grad, diagonal)}; });
  }
  return out;
}

Tensor triu(const Tensor& x, int64_t diagonal) {
  check_defined("triu", x);
  if (x.rank() < 2) throw Error(ErrorCode::kShape, cat("triu: ", x.shape(), " has fewer than two dimensions"));
  const auto kernel = find_kernel("triu", x.device(), &KernelTable::triangle);
  Tensor out = empty_like(x);
  kernel(Triangle::kUpper, x, diagonal, out);
  if (tracks(x)) {
    record(out, "triu", {x}, [diagonal](const Tensor& grad) -> Grads { return {triu(grad, diagonal)}; });
  }
  return out;
}

}  // namespace wick
