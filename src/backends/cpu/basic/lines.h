#pragma once

#include "backends/cpu/basic/reduce_plan.h"
#include "backends/cpu/scratch.h"

namespace wick::cpu {

// A tensor as lines along one dimension: [outer, size, inner] in row-major order, with any strides on x.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;
  LoopNest<1> around;  // the loops outside `dim`, then those inside it
  LoopNest<1> inside;  // the loops inside it
  int64_t along = 0;   // stride of x along `dim`

  Lines(const Tensor& x, int dim) : size(x.dim(dim)), along(x.strides()[dim]) {
    std::array<int64_t, kMaxRank> sizes{};
    std::array<Strides, 1> strides{};
    int rank = 0;
    for (int d = 0; d < x.rank(); ++d) {
      if (d == dim) continue;
      (d < dim ? outer : inner) *= x.dim(d);
      sizes[rank] = x.dim(d);
      strides[0][rank++] = x.strides()[d];
    }
    around = merge_loops<1>(Shape(std::span<const int64_t>(sizes.data(), rank)), strides);
    const int first = dim;  // of the dims after `dim`, in the lists without it
    std::array<Strides, 1> inner_strides{};
    for (int d = first; d < rank; ++d) inner_strides[0][d - first] = strides[0][d];
    inside = merge_loops<1>(Shape(std::span<const int64_t>(sizes.data() + first, rank - first)), inner_strides);
  }

  int64_t count() const { return outer * inner; }
  // Offset in x of the first element of line `at` (outer-major).
  int64_t offset(int64_t at) const { return offset_at(around, at); }
  // A line of x as a source.
  LoopNest<1> nest() const {
    LoopNest<1> result;
    result.rank = 1;
    result.sizes[0] = size;
    result.strides[0][0] = along;
    return result;
  }
};

// Where a kernel's rows of results go: straight to out, or through a buffer when out has another dtype.
struct Sink {
  Sink(const Tensor& out, DType compute)
      : data(out.raw()),
        size(size_of(out.dtype())),
        convert(converter(compute, out.dtype())),
        in_place(out.dtype() == compute),
        large(in_place && out.numel() * size >= kStreamBytes) {}

  void* place(int64_t at, void* buffer) const { return in_place ? data + at * size : buffer; }
  // Whether results at `to` should be written past the caches; end_stream() must follow.
  bool streams(const void* to) const { return large && reinterpret_cast<uintptr_t>(to) % 64 == 0; }
  // Brings what was made at place() to out.
  void flush(const void* made, int64_t at, int64_t count) const {
    if (!in_place) convert(static_cast<const std::byte*>(made), 1, data + at * size, 1, count);
  }

  std::byte* data;
  int64_t size;
  ConvertFn convert;
  bool in_place, large;
};

}  // namespace wick::cpu
