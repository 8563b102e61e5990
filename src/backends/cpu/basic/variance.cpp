#include <algorithm>
#include <limits>

#include "backends/cpu/basic/moments.h"
#include "backends/cpu/basic/reduce_plan.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;
constexpr int64_t kColumns = 1024;
constexpr int64_t kRowBlock = 128;  // rows whose mean, then squares, are taken while they are in the cache
constexpr int64_t kFew = 8;

// Mean and sum of squared distances from it of `count` elements; two are merged without looking at the elements again.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void merge(const Moments& other) {
    const double total = count + other.count, delta = other.mean - mean;
    mean += delta * (other.count / total);
    squares += other.squares + delta * delta * (count * other.count / total);
    count = total;
  }
};

struct PartialTag;

void finish(const Tensor& out, int64_t at, const Moments& moments, int64_t correction) {
  const double value = std::max(0.0, moments.squares) / (moments.count - static_cast<double>(correction));
  const double result = moments.squares != moments.squares ? moments.squares : value;  // NaN stays
  visit_dtype(out.dtype(),
              [&](auto zero) { reinterpret_cast<decltype(zero)*>(out.raw())[at] = convert<decltype(zero)>(result); });
}

template <typename T>
void variance_rows(const ReducePlan& plan, const Source& source, int64_t correction, const Tensor& out) {
  const auto& kernels = row_kernels<T>();
  const int64_t chunks = (plan.count + kChunk - 1) / kChunk;
  const auto chunk = [&](int64_t base, int64_t c) {
    alignas(64) T buffer[kChunk];
    const int64_t begin = c * kChunk, count = std::min(kChunk, plan.count - begin);
    const T* x = static_cast<const T*>(source.fetch(begin, count, buffer, base));
    const RowMoments<T> moments = row_moments(kernels, x, count);
    return Moments{moments.count, moments.mean(), moments.squares};
  };
  if (chunks == 1 || plan.outputs >= kFew) {
    parallel_for(plan.outputs, std::max<int64_t>(1, kPiece / plan.count), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int64_t base = offset_at(plan.kept, o);
        Moments total = chunk(base, 0);
        for (int64_t c = 1; c < chunks; ++c) total.merge(chunk(base, c));
        finish(out, o, total, correction);
      }
    });
    return;
  }
  Moments* partials = scratch<Moments, PartialTag>(plan.outputs * chunks);
  parallel_for(plan.outputs * chunks, kPiece / kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) partials[i] = chunk(offset_at(plan.kept, i / chunks), i % chunks);
  });
  for (int64_t o = 0; o < plan.outputs; ++o) {
    Moments total = partials[o * chunks];
    for (int64_t c = 1; c < chunks; ++c) total.merge(partials[o * chunks + c]);
    finish(out, o, total, correction);
  }
}

// Moments of a tile of columns: a mean and squares each, a common count.
struct TileMoments {
  double count = 0;
  double mean[kColumns], squares[kColumns];

  void merge(const TileMoments& other, int64_t columns) {
    const double total = count + other.count, share = other.count / total;
    row_kernels<double>().merge_columns(other.mean, other.squares, columns, share, count * share, mean, squares);
    count = total;
  }
};

// Columns [column, column + columns) of the rows of one block.
template <typename T>
void block_moments(const ReducePlan& plan, const Source& source, int64_t base, int64_t column, int64_t columns,
                   int64_t first, int64_t last, TileMoments& result) {
  const auto& kernels = row_kernels<T>();
  alignas(64) T buffers[4][kColumns], sum[kColumns], centre[kColumns], squares[kColumns];
  const auto row = [&](int64_t r, int slot) {
    return static_cast<const T*>(source.fetch(column, columns, buffers[slot], base + offset_at(plan.reduced, r)));
  };
  std::fill_n(sum, columns, T{0});
  for (int64_t r = first; r < last; ++r) kernels.add_row(row(r, 0), columns, sum);
  result.count = static_cast<double>(last - first);
  for (int64_t i = 0; i < columns; ++i) {
    centre[i] = sum[i] / static_cast<T>(last - first);
    squares[i] = 0;
  }
  int64_t r = first;
  for (; r + 4 <= last; r += 4) {
    const T* const four[4] = {row(r, 0), row(r + 1, 1), row(r + 2, 2), row(r + 3, 3)};
    kernels.squares_rows(four, columns, centre, squares);
  }
  for (; r < last; ++r) kernels.squares_row(row(r, 0), columns, centre, squares);
  for (int64_t i = 0; i < columns; ++i) {
    const double mean = static_cast<double>(sum[i]) / result.count, off = mean - static_cast<double>(centre[i]);
    result.mean[i] = mean;
    result.squares[i] = static_cast<double>(squares[i]) - result.count * off * off;
  }
}

template <typename T>
void variance_columns(const ReducePlan& plan, const Source& source, int64_t correction, const Tensor& out) {
  const int64_t width = plan.kept.inner_size(), tiles = (width + kColumns - 1) / kColumns;
  const int64_t tasks = plan.outputs / width * tiles, blocks = (plan.count + kRowBlock - 1) / kRowBlock;
  LoopNest<1> outer = plan.kept;
  outer.rank -= 1;
  const auto columns_of = [&](int64_t task) { return std::min(kColumns, width - task % tiles * kColumns); };
  const auto block = [&](int64_t task, int64_t b, TileMoments& result) {
    block_moments<T>(plan, source, offset_at(outer, task / tiles), task % tiles * kColumns, columns_of(task),
                     b * kRowBlock, std::min(plan.count, (b + 1) * kRowBlock), result);
  };
  const auto finish_tile = [&](int64_t task, const TileMoments& totals) {
    const int64_t at = task / tiles * width + task % tiles * kColumns;
    for (int64_t i = 0; i < columns_of(task); ++i) {
      finish(out, at + i, {totals.count, totals.mean[i], totals.squares[i]}, correction);
    }
  };
  if (tasks >= kFew || blocks == 1) {
    const int64_t grain = std::max<int64_t>(1, kPiece / (plan.count * std::min(width, kColumns)));
    parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
      TileMoments totals, part;
      for (int64_t task = begin; task < end; ++task) {
        block(task, 0, totals);
        for (int64_t b = 1; b < blocks; ++b) {
          block(task, b, part);
          totals.merge(part, columns_of(task));
        }
        finish_tile(task, totals);
      }
    });
    return;
  }
  TileMoments* parts = scratch<TileMoments, PartialTag>(tasks * blocks);
  parallel_for(tasks * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) block(i / blocks, i % blocks, parts[i]);
  });
  for (int64_t task = 0; task < tasks; ++task) {
    TileMoments& totals = parts[task * blocks];
    for (int64_t b = 1; b < blocks; ++b) totals.merge(parts[task * blocks + b], columns_of(task));
    finish_tile(task, totals);
  }
}

template <typename T>
void variance_as(const Tensor& x, int64_t correction, const Tensor& out) {
  const ReducePlan plan(x, out);
  if (plan.outputs == 0 || plan.count == 0) return;
  if (plan.by_columns()) {
    LoopNest<1> row;
    row.rank = 1;
    row.sizes[0] = std::numeric_limits<int64_t>::max();
    row.strides[0][0] = plan.kept.inner_stride(0);
    variance_columns<T>(plan, Source(x.raw(), x.dtype(), dtype_of<T>(), row), correction, out);
  } else {
    variance_rows<T>(plan, Source(x.raw(), x.dtype(), dtype_of<T>(), plan.reduced), correction, out);
  }
}

}  // namespace

void variance(const Tensor& x, int64_t correction, const Tensor& out) {
  if (x.dtype() == DType::kF64) return variance_as<double>(x, correction, out);
  variance_as<float>(x, correction, out);
}

}  // namespace wick::cpu
