#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/basic/convert.h"
#include "backends/cpu/basic/transpose.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;   // elements a thread takes at a time
constexpr int64_t kTile = 64;       // of a transposing copy: columns of dst
constexpr int64_t kTileRows = 512;  // and rows, along which src is read

enum : int { kSrc, kDst };

// The loops of both tensors, ordered so that the innermost is the one along which dst is densest.
LoopNest<2> dst_order(const Tensor& src, const Tensor& dst) {
  const int rank = src.rank();
  std::array<int, kMaxRank> order{};
  for (int d = 0; d < rank; ++d) {  // insertion sort by falling stride, stable
    int slot = d;
    for (; slot > 0 && std::abs(dst.strides()[order[slot - 1]]) < std::abs(dst.strides()[d]); --slot) {
      order[slot] = order[slot - 1];
    }
    order[slot] = d;
  }
  std::array<int64_t, kMaxRank> sizes{};
  std::array<Strides, 2> strides{};
  for (int d = 0; d < rank; ++d) {
    sizes[d] = src.dim(order[d]);
    strides[kSrc][d] = src.strides()[order[d]];
    strides[kDst][d] = dst.strides()[order[d]];
  }
  return merge_loops<2>(Shape(std::span<const int64_t>(sizes.data(), rank)), strides);
}

void copy_bytes(const std::byte* from, std::byte* to, int64_t bytes) {
  const bool streams = bytes >= kStreamBytes;
  parallel_for(bytes, kPiece * 8, [&](int64_t begin, int64_t end) {
    if (streams) {
      stream_bytes(from + begin, to + begin, end - begin);
      end_stream();
    } else {
      std::memcpy(to + begin, from + begin, end - begin);
    }
  });
}

// out[i * out_stride + j] = in[j * in_stride + i] for a tile of rows x cols, in blocks a cache line wide on both sides:
// each line is read and written once, whatever the strides do to the cache.
template <typename T>
void transpose_tile(const T* __restrict in, int64_t in_stride, T* __restrict out, int64_t out_stride, int64_t rows,
                    int64_t cols, [[maybe_unused]] bool streams) {
  constexpr int64_t kBlock = 64 / sizeof(T);
  T block[kBlock][kBlock], line[kBlock];
  if constexpr (sizeof(T) == 4) {
    streams &= reinterpret_cast<uintptr_t>(out) % 64 == 0 && out_stride % kBlock == 0;
    const int64_t whole_rows = rows / kBlock * kBlock, whole_cols = cols / kBlock * kBlock;
    for (int64_t j = 0; j < whole_cols; j += kBlock) {
      for (int64_t i = 0; i < whole_rows; i += kBlock) {
        const T* from = in + j * in_stride + i;
        const T* next = i + 4 * kBlock < whole_rows ? from + 4 * kBlock : from;
        transpose_block(from, in_stride, out + i * out_stride + j, out_stride, streams, next);
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = i < whole_rows ? whole_cols : 0; j < cols; ++j) out[i * out_stride + j] = in[j * in_stride + i];
    }
    return;
  }
  int64_t i = 0;
  for (; i + kBlock <= rows; i += kBlock) {
    int64_t j = 0;
    for (; j + kBlock <= cols; j += kBlock) {
      for (int64_t b = 0; b < kBlock; ++b) std::memcpy(block[b], in + (j + b) * in_stride + i, sizeof(block[b]));
      for (int64_t a = 0; a < kBlock; ++a) {
        for (int64_t b = 0; b < kBlock; ++b) line[b] = block[b][a];
        std::memcpy(out + (i + a) * out_stride + j, line, sizeof(line));
      }
    }
    for (; j < cols; ++j) {
      for (int64_t a = 0; a < kBlock; ++a) out[(i + a) * out_stride + j] = in[j * in_stride + i + a];
    }
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) out[i * out_stride + j] = in[j * in_stride + i];
  }
}

// Loop `row` runs densely through src and the innermost through dst: copies tile by tile.
template <typename T>
void transpose(const T* from, T* to, const LoopNest<2>& nest, int row) {
  const int col = nest.rank - 1;
  const int64_t rows = nest.sizes[row], cols = nest.sizes[col];
  const int64_t row_tiles = (rows + kTileRows - 1) / kTileRows, col_tiles = (cols + kTile - 1) / kTile;
  LoopNest<2> outer = nest;  // the other loops; the one given to offsets() last is a dummy of size 1
  outer.sizes[row] = 1;
  outer.sizes[col] = 1;
  const bool streams = nest.outer_count() * cols * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
  parallel_for(outer.outer_count() * row_tiles * col_tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t i = tile / col_tiles % row_tiles * kTileRows, j = tile % col_tiles * kTile;
      const auto offsets = outer.offsets(tile / col_tiles / row_tiles);
      transpose_tile(from + offsets[kSrc] + i + j * nest.strides[kSrc][col], nest.strides[kSrc][col],
                     to + offsets[kDst] + i * nest.strides[kDst][row] + j, nest.strides[kDst][row],
                     std::min(kTileRows, rows - i), std::min(kTile, cols - j), streams);
    }
    if (streams) end_stream();
  });
}

// True when the copy is a transposition and was done.
bool try_transpose(const Tensor& src, const Tensor& dst, const LoopNest<2>& nest) {
  if (nest.rank < 2 || nest.inner_stride(kDst) != 1 || nest.inner_stride(kSrc) == 1 || nest.inner_size() < 8) {
    return false;
  }
  for (int d = nest.rank - 2; d >= 0; --d) {
    if (nest.strides[kSrc][d] != 1 || nest.sizes[d] < 8) continue;
    const auto run = [&](auto zero) {
      using T = decltype(zero);
      transpose(reinterpret_cast<const T*>(src.raw()), reinterpret_cast<T*>(dst.raw()), nest, d);
    };
    switch (size_of(dst.dtype())) {
      case 1: run(uint8_t{}); break;
      case 2: run(uint16_t{}); break;
      case 4: run(uint32_t{}); break;
      default: run(uint64_t{});
    }
    return true;
  }
  return false;
}

// Row by row, a piece of several rows or a part of one at a time.
void copy_rows(const Tensor& src, const Tensor& dst, const LoopNest<2>& nest) {
  const ConvertFn convert = converter(src.dtype(), dst.dtype());
  const int64_t row = nest.inner_size(), from_step = nest.inner_stride(kSrc), to_step = nest.inner_stride(kDst);
  const int64_t from_size = size_of(src.dtype()), to_size = size_of(dst.dtype());
  const auto copy_part = [&](int64_t outer, int64_t column, int64_t count) {
    const auto offsets = nest.offsets(outer);
    convert(src.raw() + (offsets[kSrc] + column * from_step) * from_size, from_step,
            dst.raw() + (offsets[kDst] + column * to_step) * to_size, to_step, count);
  };
  parallel_for(nest.outer_count() * row, kPiece, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t column = begin % row, count = std::min(end - begin, row - column);
      copy_part(begin / row, column, count);
      begin += count;
    }
  });
}

}  // namespace

void copy(const Tensor& src, const Tensor& dst) {
  if (src.numel() == 0) return;
  const LoopNest<2> nest = dst_order(src, dst);
  if (src.dtype() == dst.dtype()) {
    const bool dense =
        nest.rank == 0 || (nest.rank == 1 && nest.inner_stride(kSrc) == 1 && nest.inner_stride(kDst) == 1);
    if (dense) return copy_bytes(src.raw(), dst.raw(), src.numel() * size_of(src.dtype()));
    if (try_transpose(src, dst, nest)) return;
  }
  copy_rows(src, dst, nest);
}

}  // namespace wick::cpu
