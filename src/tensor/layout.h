#pragma once

#include <array>
#include <optional>
#include <span>

#include "tensor/shape.h"

namespace wick {

using Strides = std::array<int64_t, kMaxRank>;

// How a tensor's elements lie in its storage: element (i, j, ...) is at offset + i*strides[0] + j*strides[1] + ...
// All in elements. A stride of 0 repeats (broadcast); strides may be negative (flip).
struct Layout {
  Shape shape;
  Strides strides{};
  int64_t offset = 0;

  static Layout contiguous(const Shape& shape);
  bool is_contiguous() const;  // row-major without gaps

  // Arguments are already checked by the ops; dims count from the front.
  Layout narrow(int dim, int64_t start, int64_t length) const;
  Layout permute(std::span<const int> order) const;
  Layout transpose(int dim0, int dim1) const;
  Layout flip(int dim) const;
  Layout squeeze(int dim) const;
  Layout unsqueeze(int dim) const;
  // Empty when the shapes cannot be broadcast (a size differs and is not 1).
  std::optional<Layout> broadcast_to(const Shape& target) const;
  // Empty when the elements would have to move.
  std::optional<Layout> reshape(const Shape& target) const;
};

// The fewest loops that visit several operands of one shape together: neighbouring dimensions that are contiguous for
// all of them are merged, dimensions of size 1 are dropped. `sizes` is outermost first; strides[operand][dim].
template <int kOperands>
struct LoopNest {
  int rank = 0;
  std::array<int64_t, kMaxRank> sizes{};
  std::array<Strides, kOperands> strides{};

  int64_t inner_size() const { return rank ? sizes[rank - 1] : 1; }
  int64_t inner_stride(int operand) const { return rank ? strides[operand][rank - 1] : 1; }
  int64_t outer_count() const {
    int64_t count = 1;
    for (int d = 0; d + 1 < rank; ++d) count *= sizes[d];
    return count;
  }
  // Element offset of each operand at the start of inner row `outer`.
  std::array<int64_t, kOperands> offsets(int64_t outer) const {
    std::array<int64_t, kOperands> result{};
    for (int d = rank - 2; d >= 0; --d) {
      const int64_t index = outer % sizes[d];
      outer /= sizes[d];
      for (int o = 0; o < kOperands; ++o) result[o] += index * strides[o][d];
    }
    return result;
  }
};

template <int kOperands>
LoopNest<kOperands> merge_loops(const Shape& shape, const std::array<Strides, kOperands>& strides) {
  LoopNest<kOperands> nest;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    bool merges = nest.rank > 0;
    for (int o = 0; o < kOperands && merges; ++o) {
      merges = nest.strides[o][nest.rank - 1] == strides[o][d] * shape[d];
    }
    const int slot = merges ? nest.rank - 1 : nest.rank++;
    nest.sizes[slot] = merges ? nest.sizes[slot] * shape[d] : shape[d];
    for (int o = 0; o < kOperands; ++o) nest.strides[o][slot] = strides[o][d];
  }
  return nest;
}

}  // namespace wick
