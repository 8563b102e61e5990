#pragma once

#include <cstdlib>

#include "backends/cpu/gemm/source.h"

namespace wick::cpu {

// A reduction of x into out (size 1 in reduced dims) as two loop nests over x: the dims kept, whose row-major order is
// that of out, and the dims reduced.
struct ReducePlan {
  LoopNest<1> kept, reduced;
  int64_t outputs = 1, count = 1;  // `count` elements of x make one of out

  ReducePlan(const Tensor& x, const Tensor& out) {
    std::array<int64_t, kMaxRank> kept_sizes{}, reduced_sizes{};
    std::array<Strides, 1> kept_strides{}, reduced_strides{};
    int kept_rank = 0, reduced_rank = 0;
    for (int d = 0; d < x.rank(); ++d) {
      const bool keeps = out.dim(d) == x.dim(d);
      const int slot = keeps ? kept_rank++ : reduced_rank++;
      (keeps ? kept_sizes : reduced_sizes)[slot] = x.dim(d);
      (keeps ? kept_strides : reduced_strides)[0][slot] = x.strides()[d];
    }
    const Shape kept_shape(std::span<const int64_t>(kept_sizes.data(), kept_rank));
    const Shape reduced_shape(std::span<const int64_t>(reduced_sizes.data(), reduced_rank));
    kept = merge_loops<1>(kept_shape, kept_strides);
    reduced = merge_loops<1>(reduced_shape, reduced_strides);
    outputs = kept_shape.numel();
    count = reduced_shape.numel();
  }

  // Whether x lies denser along the kept dims: then rows are added up, several outputs at a time.
  bool by_columns() const {
    if (kept.rank == 0 || kept.inner_stride(0) == 0) return false;
    return reduced.rank == 0 || std::abs(kept.inner_stride(0)) < std::abs(reduced.inner_stride(0));
  }
};

// The offset of element `at` of a nest, in row-major order.
inline int64_t offset_at(const LoopNest<1>& nest, int64_t at) {
  int64_t offset = 0;
  for (int d = nest.rank - 1; d >= 0; --d) {
    offset += at % nest.sizes[d] * nest.strides[0][d];
    at /= nest.sizes[d];
  }
  return offset;
}

}  // namespace wick::cpu
