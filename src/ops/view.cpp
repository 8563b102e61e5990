#include "ops/view.h"

#include <algorithm>
#include <array>

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

Tensor squeeze(const Tensor& x, int64_t dim) {
  check_defined("squeeze", x);
  const int d = normalize_dim("squeeze", dim, x.rank());
  if (x.dim(d) != 1) {
    throw Error(ErrorCode::kShape, cat("squeeze: dimension ", d, " of ", x.shape(), " has size ", x.dim(d), ", not 1"));
  }
  Tensor out = x.with_layout(x.layout().squeeze(d));
  if (tracks(x)) {
    record(out, "squeeze", {x}, [d](const Tensor& grad) -> Grads { return {unsqueeze(grad, d)}; });
  }
  return out;
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  check_defined("unsqueeze", x);
  const int d = normalize_dim("unsqueeze", dim, x.rank() + 1);
  if (x.rank() == kMaxRank) {
    throw Error(ErrorCode::kShape, cat("unsqueeze: ", x.shape(), " already has the highest rank, ", kMaxRank));
  }
  Tensor out = x.with_layout(x.layout().unsqueeze(d));
  if (tracks(x)) {
    record(out, "unsqueeze", {x}, [d](const Tensor& grad) -> Grads { return {squeeze(grad, d)}; });
  }
  return out;
}

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

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  check_defined("chunk", x);
  const int d = normalize_dim("chunk", dim, x.rank());
  if (chunks < 1)
    throw Error(ErrorCode::kInvalidArgument, cat("chunk: ", chunks, " chunks asked for, expected 1 or more"));
  const int64_t size = std::max<int64_t>(1, ceil_div(x.dim(d), chunks));
  std::vector<Tensor> parts;
  for (int64_t start = 0; start < x.dim(d); start += size) {
    parts.push_back(narrow(x, d, start, std::min(size, x.dim(d) - start)));
  }
  if (parts.empty()) parts.push_back(x);
  return parts;
}

Tensor broadcast_as(const Tensor& x, const Shape& shape) {
  check_defined("broadcast_as", x);
  Tensor out = broadcast_view("broadcast_as", x, shape);
  if (tracks(x)) {
    record(out, "broadcast_as", {x}, [from = x.shape()](const Tensor& grad) -> Grads { return {sum_to(grad, from)}; });
  }
  return out;
}

}  // namespace wick
