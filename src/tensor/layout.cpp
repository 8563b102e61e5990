#include "tensor/layout.h"

#include <algorithm>
#include <utility>

namespace wick {

Layout Layout::contiguous(const Shape& shape) {
  Layout layout{shape, {}, 0};
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    layout.strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return layout;
}

bool Layout::is_contiguous() const {
  if (shape.numel() == 0) return true;
  int64_t expected = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

Layout Layout::narrow(int dim, int64_t start, int64_t length) const {
  Layout result{shape.with(dim, length), strides, offset};
  if (result.shape.numel() > 0) result.offset += start * strides[dim];
  return result;
}

Layout Layout::permute(std::span<const int> order) const {
  std::array<int64_t, kMaxRank> dims{};
  Layout result{{}, {}, offset};
  for (size_t d = 0; d < order.size(); ++d) {
    dims[d] = shape[order[d]];
    result.strides[d] = strides[order[d]];
  }
  result.shape = Shape(std::span<const int64_t>(dims.data(), order.size()));
  return result;
}

Layout Layout::transpose(int dim0, int dim1) const {
  std::array<int, kMaxRank> order{};
  for (int d = 0; d < shape.rank(); ++d) order[d] = d;
  std::swap(order[dim0], order[dim1]);
  return permute(std::span<const int>(order.data(), shape.rank()));
}

Layout Layout::flip(int dim) const {
  Layout result = *this;
  if (shape.numel() > 0) result.offset += (shape[dim] - 1) * strides[dim];
  result.strides[dim] = -strides[dim];
  return result;
}

Layout Layout::squeeze(int dim) const {
  Layout result{shape.without(dim), {}, offset};
  for (int d = 0, out = 0; d < shape.rank(); ++d) {
    if (d != dim) result.strides[out++] = strides[d];
  }
  return result;
}

Layout Layout::unsqueeze(int dim) const {
  Layout result{shape.inserted(dim, 1), {}, offset};
  for (int d = 0; d < result.shape.rank(); ++d) {
    result.strides[d] = d < dim ? strides[d] : d == dim ? 0 : strides[d - 1];
  }
  return result;
}

std::optional<Layout> Layout::broadcast_to(const Shape& target) const {
  const int added = target.rank() - shape.rank();
  if (added < 0) return std::nullopt;
  Layout result{target, {}, offset};
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t size = target[d + added];
    if (shape[d] != size && shape[d] != 1) return std::nullopt;
    result.strides[d + added] = shape[d] == size ? strides[d] : 0;
  }
  return result;
}

std::optional<Layout> Layout::reshape(const Shape& target) const {
  Layout result = contiguous(target);
  result.offset = offset;
  if (is_contiguous()) return result;
  // Match runs of source dimensions that lie gaplessly behind each other with runs of target dimensions.
  const auto nest = merge_loops<1>(shape, {strides});
  int run = 0;
  int64_t left = nest.rank ? nest.sizes[0] : 1;
  for (int d = 0; d < target.rank(); ++d) {
    if (target[d] == 1) continue;
    if (left == 1 && run + 1 < nest.rank) left = nest.sizes[++run];
    if (left % target[d] != 0) return std::nullopt;
    left /= target[d];
    result.strides[d] = left * nest.strides[0][run];
  }
  return result;
}

}  // namespace wick
