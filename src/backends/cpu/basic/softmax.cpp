#include <algorithm>
#include <cmath>

#include "backends/cpu/basic/lines.h"
#include "backends/cpu/basic/row_kernels.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;
constexpr int64_t kColumns = 256;

struct RowTag;
struct ExpTag;
struct ColumnTag;

// Along the last dimension: a row is read once from memory and worked on in the cache.
template <typename T>
void softmax_rows(const Tensor& x, const Lines& lines, bool logarithm, const Tensor& out) {
  const auto& kernels = row_kernels<T>();
  const Source source(x.raw(), x.dtype(), dtype_of<T>(), lines.nest());
  const Sink sink(out, dtype_of<T>());
  const int64_t size = lines.size;
  parallel_for(lines.count(), std::max<int64_t>(1, kPiece / size), [&](int64_t begin, int64_t end) {
    T* buffer = scratch<T, RowTag>(size);
    T* powers = scratch<T, ExpTag>(size);
    alignas(64) T made[kChunk];
    for (int64_t line = begin; line < end; ++line) {
      const T* row = static_cast<const T*>(source.fetch(0, size, buffer, lines.offset(line)));
      const T* next = row == buffer || line + 1 == end ? row : row + (lines.offset(line + 1) - lines.offset(line));
      const T most = kernels.peak(row, size);  // a NaN makes the sum NaN
      double total = 0;
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t n = std::min(kChunk, size - i);
        total += logarithm ? kernels.exp_only_sum(row + i, n, most, next + i)
                           : kernels.exp_sum(row + i, n, most, powers + i, next + i);
      }
      const T factor = static_cast<T>(logarithm ? std::log(total) : 1 / total);
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t n = std::min(kChunk, size - i), at = line * size + i;
        T* to = static_cast<T*>(sink.place(at, made));
        if (logarithm) {
          kernels.subtract(row + i, n, most, factor, to, sink.streams(to));
        } else {
          kernels.scale(powers + i, n, factor, to, sink.streams(to));
        }
        sink.flush(to, at, n);
      }
    }
    if (sink.large) end_stream();
  });
}

// The same for results that go past the caches, rows of up to one chunk: a row is scaled while the next is computed.
template <typename T>
void softmax_large(const Tensor& x, const Lines& lines, const Tensor& out) {
  const auto& kernels = row_kernels<T>();
  const int64_t size = lines.size;
  T* to = reinterpret_cast<T*>(out.raw());
  parallel_for(lines.count(), std::max<int64_t>(1, kPiece / size), [&](int64_t begin, int64_t end) {
    alignas(64) T powers[2][kChunk];
    T factor = 0;
    for (int64_t line = begin; line < end; ++line) {
      const T* row = reinterpret_cast<const T*>(x.raw()) + lines.offset(line);
      const T* next = line + 1 == end ? row : reinterpret_cast<const T*>(x.raw()) + lines.offset(line + 1);
      const T most = kernels.peak(row, size);  // a NaN makes the sum NaN
      T* made = powers[line % 2];
      const double total = line == begin
                               ? kernels.exp_sum(row, size, most, made, next)
                               : kernels.exp_sum_and_scale(row, size, most, made, next, powers[(line + 1) % 2], factor,
                                                           to + (line - 1) * size);
      factor = static_cast<T>(1 / total);
    }
    kernels.scale(powers[(end - 1) % 2], size, factor, to + (end - 1) * size, true);
    end_stream();
  });
}

// Along another dimension: many lines side by side, one row of them at a time.
template <typename T>
void softmax_columns(const Tensor& x, const Lines& lines, bool logarithm, const Tensor& out) {
  const auto& kernels = row_kernels<T>();
  const Source source(x.raw(), x.dtype(), dtype_of<T>(), lines.inside);
  const Sink sink(out, dtype_of<T>());
  LoopNest<1> outer = lines.around;
  // Few enough columns that they stay in the second-level cache between the passes.
  const int64_t tile = std::clamp<int64_t>(65536 / lines.size / 16 * 16, 32, kColumns);
  const int64_t tiles = (lines.inner + tile - 1) / tile;
  const int64_t work = lines.size * std::min(lines.inner, tile);
  parallel_for(lines.outer * tiles, std::max<int64_t>(1, kPiece / work), [&](int64_t begin, int64_t end) {
    alignas(64) T buffer[kColumns], most[kColumns], total[kColumns], part[kColumns];
    double sums[kColumns];
    T* tile_rows = scratch<T, ColumnTag>(lines.size * tile);  // lies densely, unlike x
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % tiles * tile, count = std::min(tile, lines.inner - column);
      const int64_t base = offset_at(outer, task / tiles * lines.inner);
      const auto row = [&](int64_t r) {
        return static_cast<const T*>(source.fetch(column, count, buffer, base + r * lines.along));
      };
      const T* top = row(0);
      std::copy_n(top, count, most);
      if (top != buffer) {
        kernels.copy_max_rows(top, lines.along, lines.size, count, tile_rows, tile, most);
      } else {
        for (int64_t r = 0; r < lines.size; ++r) {
          kernels.copy_max_rows(row(r), 0, 1, count, tile_rows + r * tile, 0, most);
        }
      }
      std::fill_n(sums, count, 0.0);
      for (int64_t first = 0; first < lines.size; first += 64) {  // short sums in T, then f64
        const int64_t rows = std::min<int64_t>(64, lines.size - first);
        kernels.exp_rows(tile_rows + first * tile, tile, rows, count, most, !logarithm, part);
        for (int64_t i = 0; i < count; ++i) sums[i] += part[i];
      }
      for (int64_t i = 0; i < count; ++i) total[i] = static_cast<T>(logarithm ? std::log(sums[i]) : 1 / sums[i]);
      const auto finish = [&](int64_t r, int64_t rows, T* to, bool streams) {
        const T* from = tile_rows + r * tile;
        if (logarithm) {
          kernels.subtract_rows(from, tile, rows, count, most, total, to, lines.inner, streams);
        } else {
          kernels.scale_rows(from, tile, rows, count, total, to, lines.inner, streams);
        }
      };
      const int64_t start = task / tiles * lines.size * lines.inner + column;
      T* to = static_cast<T*>(sink.place(start, part));
      if (sink.in_place) {
        finish(0, lines.size, to, sink.streams(to) && lines.inner * sizeof(T) % 64 == 0);
        continue;
      }
      for (int64_t r = 0; r < lines.size; ++r) {
        finish(r, 1, to, false);
        sink.flush(to, start + r * lines.inner, count);
      }
    }
    if (sink.large) end_stream();
  });
}

void softmax_any(const Tensor& x, int dim, bool logarithm, const Tensor& out) {
  if (x.numel() == 0) return;
  const Lines lines(x, dim);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const bool dense = x.dtype() == dtype_of<T>() && (lines.along == 1 || lines.size == 1);
    const bool aligned = lines.size * sizeof(T) % 64 == 0 && reinterpret_cast<uintptr_t>(out.raw()) % 64 == 0;
    if (lines.inner == 1 && !logarithm && dense && aligned && lines.size <= kChunk && Sink(out, x.dtype()).large) {
      return softmax_large<T>(x, lines, out);
    }
    if (lines.inner == 1) return softmax_rows<T>(x, lines, logarithm, out);
    softmax_columns<T>(x, lines, logarithm, out);
  };
  if (x.dtype() == DType::kF64) return run(double{});
  run(float{});
}

}  // namespace

void softmax(const Tensor& x, int dim, const Tensor& out) { softmax_any(x, dim, false, out); }
void log_softmax(const Tensor& x, int dim, const Tensor& out) { softmax_any(x, dim, true, out); }

}  // namespace wick::cpu
