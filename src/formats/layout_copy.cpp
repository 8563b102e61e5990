#include "formats/layout_copy.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "formats/empty_pages.h"

namespace wick {
namespace {

constexpr int64_t kPieceBytes = 1 << 18;  // what a thread copies at a time

int64_t rows_per_piece(int64_t row_bytes) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, row_bytes));
}

// Bytes of one slice of the first dimension of a compact tensor.
int64_t row_bytes_of(const Tensor& x) { return x.dim(0) == 0 ? 0 : bytes_of(x.dtype(), x.numel()) / x.dim(0); }

}  // namespace

Tensor compact(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const int last = x.rank() - 1;
  const bool runs = x.strides()[last] == 1;
  if (is_packed(x.dtype()) && !runs) {
    throw Error(ErrorCode::kUnsupported, cat("a transposed ", x.dtype(), " ", x.shape(),
                                             " cannot be copied: its blocks lie along another dimension"));
  }
  Tensor out = empty_pages(x.shape(), x.dtype());
  const int64_t block = block_weights(x.dtype()), unit = block_bytes(x.dtype());
  const int64_t columns = x.dim(last), rows = columns == 0 ? 0 : x.numel() / columns;
  const int64_t row_bytes = bytes_of(x.dtype(), columns), step = x.strides()[last] * unit;
  const std::byte* base = x.storage()->data();
  parallel_for(rows, rows_per_piece(row_bytes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t place = x.layout().offset, rest = row;
      for (int d = last - 1; d >= 0; --d) {
        place += rest % x.dim(d) * x.strides()[d];
        rest /= x.dim(d);
      }
      const std::byte* from = base + place / block * unit;
      std::byte* to = out.raw() + row * row_bytes;
      if (runs) {
        std::memcpy(to, from, row_bytes);
      } else {
        for (int64_t i = 0; i < columns; ++i) std::memcpy(to + i * unit, from + i * step, unit);
      }
    }
  });
  return out;
}

Tensor gather_rows(const Tensor& x, int64_t rows, FunctionRef<int64_t(int64_t)> source) {
  const Tensor whole = compact(x);
  Tensor out = empty_pages(x.shape().with(0, rows), x.dtype());
  const int64_t row_bytes = row_bytes_of(whole);
  parallel_for(rows, rows_per_piece(row_bytes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::memcpy(out.raw() + row * row_bytes, whole.raw() + source(row) * row_bytes, row_bytes);
    }
  });
  return out;
}

Tensor narrow_rows(const Tensor& x, int dim, int64_t start, int64_t length) {
  return x.with_layout(x.layout().narrow(dim, start, length));
}

Tensor join_rows(std::span<const Tensor> parts, int dim) {
  const Tensor& first = parts.front();
  int64_t joined = 0;
  for (const Tensor& part : parts) {
    if (part.dtype() != first.dtype() || part.rank() != first.rank() || dim >= part.rank() ||
        part.shape().with(dim, 1) != first.shape().with(dim, 1)) {
      throw Error(ErrorCode::kShape, cat(first.dtype(), " ", first.shape(), " and ", part.dtype(), " ", part.shape(),
                                         " cannot be joined along dimension ", dim));
    }
    joined += part.dim(dim);
  }
  Tensor out = empty_pages(first.shape().with(dim, joined), first.dtype());
  const int64_t outer = dim == 0 ? 1 : first.dim(0);
  const int64_t out_bytes = outer == 0 ? 0 : bytes_of(out.dtype(), out.numel()) / outer;
  int64_t place = 0;
  for (const Tensor& part : parts) {
    const Tensor whole = compact(part);
    const int64_t bytes = outer == 0 ? 0 : bytes_of(part.dtype(), part.numel()) / outer;
    for (int64_t i = 0; i < outer; ++i) {
      std::memcpy(out.raw() + i * out_bytes + place, whole.raw() + i * bytes, bytes);
    }
    place += bytes;
  }
  return out;
}

Tensor stack_parts(std::span<const Tensor> parts) {
  std::vector<Tensor> slices;
  for (const Tensor& part : parts) slices.push_back(part.with_layout(part.layout().unsqueeze(0)));
  return join_rows(slices, 0);
}

}  // namespace wick
