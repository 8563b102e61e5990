#include <algorithm>
#include <limits>

#include "backends/cpu/basic/reduce_plan.h"
#include "backends/cpu/basic/row_kernels.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;   // elements a thread takes at a time, about
constexpr int64_t kColumns = 2048;  // outputs that are worked on together when reducing by columns
constexpr int64_t kRowBlock = 128;  // rows added up in the compute type before they go to the total
constexpr int64_t kFew = 8;         // with fewer independent tasks than this, one task is split among threads

// Integers are summed in i64 and wrap around.
template <typename T>
struct IntegerRows {
  static T sum(const T* x, int64_t count) {
    uint64_t total = 0;
    for (int64_t i = 0; i < count; ++i) total += static_cast<uint64_t>(x[i]);
    return static_cast<T>(total);
  }
  static T max(const T* x, int64_t count) { return *std::max_element(x, x + count); }
  static T min(const T* x, int64_t count) { return *std::min_element(x, x + count); }
  static void add_row(const T* row, int64_t count, T* total) {
    for (int64_t i = 0; i < count; ++i) {
      total[i] = static_cast<T>(static_cast<uint64_t>(total[i]) + static_cast<uint64_t>(row[i]));
    }
  }
  static void add_total(const T* row, int64_t count, T* total) { add_row(row, count, total); }
  static void max_row(const T* row, int64_t count, T* most) {
    for (int64_t i = 0; i < count; ++i) most[i] = std::max(most[i], row[i]);
  }
  static void min_row(const T* row, int64_t count, T* least) {
    for (int64_t i = 0; i < count; ++i) least[i] = std::min(least[i], row[i]);
  }
};

template <typename T>
auto rows_of() {
  if constexpr (std::is_integral_v<T>) {
    return IntegerRows<T>();
  } else {
    return row_kernels<T>();
  }
}

// One reduction: how elements make a partial result and partial results a total.
template <typename T>
struct Reducer {
  using Total = std::conditional_t<std::is_integral_v<T>, T, double>;
  ReduceOp op;
  decltype(rows_of<T>()) rows = rows_of<T>();

  bool sums() const { return op == ReduceOp::kSum || op == ReduceOp::kMean; }

  T partial(const T* x, int64_t count) const {
    if (sums()) return rows.sum(x, count);
    return op == ReduceOp::kMax ? rows.max(x, count) : rows.min(x, count);
  }
  static Total add(Total total, Total value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(total) + static_cast<uint64_t>(value));
    } else {
      return total + value;
    }
  }
  Total combine(Total total, Total value) const {
    if (sums()) return add(total, value);
    if (total != total) return total;
    const bool wins = op == ReduceOp::kMax ? value > total : value < total;
    return wins || value != value ? value : total;
  }
  // One block's partial results into the totals.
  void merge(const T* block, int64_t count, bool first, Total* totals) const {
    if (first) {
      for (int64_t i = 0; i < count; ++i) totals[i] = static_cast<Total>(block[i]);
    } else if (sums()) {
      rows.add_total(block, count, totals);
    } else {
      for (int64_t i = 0; i < count; ++i) totals[i] = combine(totals[i], static_cast<Total>(block[i]));
    }
  }
  void finish(const Tensor& out, int64_t at, Total total, int64_t count) const {
    visit_dtype(out.dtype(), [&](auto zero) {
      using To = decltype(zero);
      auto* to = reinterpret_cast<To*>(out.raw()) + at;
      *to = op == ReduceOp::kMean ? convert<To>(static_cast<double>(total) / static_cast<double>(count))
                                  : convert<To>(total);
    });
  }
};

struct PartialTag;
struct TotalTag;
struct BlockTag;

// Each output is a row of x (perhaps in pieces): reduced chunk by chunk.
template <typename T>
void reduce_rows(const Reducer<T>& reducer, const ReducePlan& plan, const Source& source, const Tensor& out) {
  using Total = typename Reducer<T>::Total;
  const int64_t chunks = (plan.count + kChunk - 1) / kChunk;
  const auto chunk = [&](int64_t base, int64_t c) {
    alignas(64) T buffer[kChunk];
    const int64_t begin = c * kChunk, count = std::min(kChunk, plan.count - begin);
    return reducer.partial(static_cast<const T*>(source.fetch(begin, count, buffer, base)), count);
  };
  if (chunks == 1 || plan.outputs >= kFew) {
    parallel_for(plan.outputs, std::max<int64_t>(1, kPiece / plan.count), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int64_t base = offset_at(plan.kept, o);
        Total total = chunk(base, 0);
        for (int64_t c = 1; c < chunks; ++c) total = reducer.combine(total, chunk(base, c));
        reducer.finish(out, o, total, plan.count);
      }
    });
    return;
  }
  T* partials = scratch<T, PartialTag>(plan.outputs * chunks);
  parallel_for(plan.outputs * chunks, kPiece / kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) partials[i] = chunk(offset_at(plan.kept, i / chunks), i % chunks);
  });
  for (int64_t o = 0; o < plan.outputs; ++o) {
    Total total = partials[o * chunks];
    for (int64_t c = 1; c < chunks; ++c) total = reducer.combine(total, partials[o * chunks + c]);
    reducer.finish(out, o, total, plan.count);
  }
}

// Rows of a few elements each, where the work around a row would cost more than the row: a plain loop over rows whose
// sums overlap. True when it applied.
template <typename T>
bool reduce_short_rows(const Reducer<T>& reducer, const ReducePlan& plan, const Tensor& x, const Tensor& out) {
  using Total = typename Reducer<T>::Total;
  const bool plain =
      plan.kept.rank == 1 && plan.reduced.rank <= 1 && x.dtype() == dtype_of<T>() && out.dtype() == dtype_of<T>();
  if (!plain || plan.count > 32) return false;
  const T* from = reinterpret_cast<const T*>(x.raw());
  T* to = reinterpret_cast<T*>(out.raw());
  const int64_t step = plan.reduced.rank ? plan.reduced.inner_stride(0) : 0, apart = plan.kept.inner_stride(0);
  const int64_t size = plan.count;
  const bool mean = reducer.op == ReduceOp::kMean;
  parallel_for(plan.outputs, std::max<int64_t>(1, kPiece / size), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* row = from + o * apart;
      Total total = static_cast<Total>(row[0]);
      if (reducer.sums()) {
        for (int64_t i = 1; i < size; ++i) total = reducer.add(total, static_cast<Total>(row[i * step]));
        if (mean) total = static_cast<Total>(static_cast<double>(total) / static_cast<double>(size));
      } else {
        for (int64_t i = 1; i < size; ++i) total = reducer.combine(total, static_cast<Total>(row[i * step]));
      }
      to[o] = static_cast<T>(total);
    }
  });
  return true;
}

// x as rows of `width` neighbouring outputs. Where rows follow one another without a gap and are short, several are
// taken as one long row, whose parts are combined at the end.
struct ColumnPlan {
  int64_t width;     // outputs in a row of x
  int64_t fold = 1;  // rows of x in a long row
  int64_t rows;      // long rows, the last perhaps cut short
  int64_t row_blocks;
  LoopNest<1> outer;  // the kept loops around
  int64_t outers;

  explicit ColumnPlan(const ReducePlan& plan) : width(plan.kept.inner_size()), outer(plan.kept) {
    const bool dense =
        plan.kept.inner_stride(0) == 1 && plan.reduced.rank == 1 && plan.reduced.inner_stride(0) == width;
    if (dense && width < kColumns / 4) fold = kColumns / width;
    rows = (plan.count + fold - 1) / fold;
    row_blocks = (rows + kRowBlock - 1) / kRowBlock;
    outer.rank -= 1;
    outers = plan.outputs / width;
  }
};

// Rows [first, last) of columns [column, column + count) into `total`, in the compute type.
template <typename T>
void add_block(const Reducer<T>& reducer, const ReducePlan& plan, const ColumnPlan& columns, const Source& source,
               int64_t base, int64_t column, int64_t count, int64_t first, int64_t last, T* total) {
  alignas(64) T buffer[kColumns];
  const int64_t cut = (plan.count - (columns.rows - 1) * columns.fold) * columns.width;  // length of the last row
  const auto row = [&](int64_t r, int64_t n) {
    const int64_t offset = base + offset_at(plan.reduced, r * columns.fold);
    return static_cast<const T*>(source.fetch(column, n, buffer, offset));
  };
  int64_t whole = last;
  if (columns.fold > 1 && last == columns.rows) --whole;
  int64_t r = first;
  if (whole > first) {
    std::copy_n(row(r++, count), count, total);
  } else {  // only the cut row: what it lacks counts for nothing
    T neutral = 0;
    if (reducer.op == ReduceOp::kMax) neutral = std::numeric_limits<T>::lowest();
    if (reducer.op == ReduceOp::kMin) neutral = std::numeric_limits<T>::max();
    if constexpr (std::is_floating_point_v<T>) {
      if (reducer.op == ReduceOp::kMax) neutral = -std::numeric_limits<T>::infinity();
      if (reducer.op == ReduceOp::kMin) neutral = std::numeric_limits<T>::infinity();
    }
    std::fill_n(total, count, neutral);
  }
  const auto add_one = [&](int64_t at, int64_t n) {
    if (reducer.sums()) return reducer.rows.add_row(row(at, n), n, total);
    if (reducer.op == ReduceOp::kMax) return reducer.rows.max_row(row(at, n), n, total);
    reducer.rows.min_row(row(at, n), n, total);
  };
  for (; r < whole; ++r) add_one(r, count);
  if (whole < last) {
    const int64_t n = std::min(count, cut - column);
    if (n > 0) add_one(whole, n);
  }
}

template <typename T>
void reduce_columns(const Reducer<T>& reducer, const ReducePlan& plan, const Source& row_source, const Tensor& out) {
  using Total = typename Reducer<T>::Total;
  const ColumnPlan columns(plan);
  const int64_t width = columns.width * columns.fold;
  const int64_t tiles = (width + kColumns - 1) / kColumns;
  const auto place = [&](int64_t task, int64_t& base, int64_t& column, int64_t& count) {
    base = offset_at(columns.outer, task / tiles);
    column = task % tiles * kColumns;
    count = std::min(kColumns, width - column);
  };
  // Folded rows lie in one tile, so an output's parts are all there when its tile is done.
  const auto finish = [&](int64_t task, const Total* totals) {
    int64_t base, column, count;
    place(task, base, column, count);
    for (int64_t i = 0; i < std::min(count, columns.width); ++i) {
      Total total = totals[i];
      for (int64_t f = 1; f < columns.fold; ++f) {
        if (f < plan.count) total = reducer.combine(total, totals[i + f * columns.width]);
      }
      reducer.finish(out, task / tiles * columns.width + column + i, total, plan.count);
    }
  };
  const int64_t tasks = columns.outers * tiles;
  if (tasks >= kFew || columns.row_blocks == 1) {
    const int64_t grain = std::max<int64_t>(1, kPiece / (columns.rows * std::min(width, kColumns)));
    parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
      alignas(64) T block[kColumns];
      Total totals[kColumns];
      for (int64_t task = begin; task < end; ++task) {
        int64_t base, column, count;
        place(task, base, column, count);
        for (int64_t b = 0; b < columns.row_blocks; ++b) {
          add_block(reducer, plan, columns, row_source, base, column, count, b * kRowBlock,
                    std::min(columns.rows, (b + 1) * kRowBlock), block);
          reducer.merge(block, count, b == 0, totals);
        }
        finish(task, totals);
      }
    });
    return;
  }
  T* blocks = scratch<T, BlockTag>(tasks * columns.row_blocks * kColumns);
  parallel_for(tasks * columns.row_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t base, column, count;
      place(i / columns.row_blocks, base, column, count);
      const int64_t first = i % columns.row_blocks * kRowBlock;
      add_block(reducer, plan, columns, row_source, base, column, count, first,
                std::min(columns.rows, first + kRowBlock), blocks + i * kColumns);
    }
  });
  Total totals[kColumns];
  for (int64_t task = 0; task < tasks; ++task) {
    int64_t base, column, count;
    place(task, base, column, count);
    for (int64_t b = 0; b < columns.row_blocks; ++b) {
      const T* block = blocks + (task * columns.row_blocks + b) * kColumns;
      reducer.merge(block, count, b == 0, totals);
    }
    finish(task, totals);
  }
}

template <typename T>
void reduce_as(ReduceOp op, const Tensor& x, const Tensor& out) {
  const Reducer<T> reducer{op};
  const ReducePlan plan(x, out);
  if (plan.outputs == 0) return;
  if (plan.count == 0) {
    for (int64_t o = 0; o < plan.outputs; ++o) reducer.finish(out, o, 0, 0);
  } else if (plan.by_columns()) {
    LoopNest<1> row;
    row.rank = 1;
    row.sizes[0] = std::numeric_limits<int64_t>::max();
    row.strides[0][0] = plan.kept.inner_stride(0);
    reduce_columns(reducer, plan, Source(x.raw(), x.dtype(), dtype_of<T>(), row), out);
  } else if (!reduce_short_rows(reducer, plan, x, out)) {
    reduce_rows(reducer, plan, Source(x.raw(), x.dtype(), dtype_of<T>(), plan.reduced), out);
  }
}

}  // namespace

void reduce(ReduceOp op, const Tensor& x, const Tensor& out) {
  if (is_integer(x.dtype())) return reduce_as<int64_t>(op, x, out);
  if (x.dtype() == DType::kF64) return reduce_as<double>(op, x, out);
  reduce_as<float>(op, x, out);
}

}  // namespace wick::cpu
