#include <algorithm>

#include "backends/cpu/basic/lines.h"
#include "backends/cpu/basic/row_kernels.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;
constexpr int64_t kRun = 1024;

template <typename T, bool kMax>
bool wins(T value, T leader) {
  return (kMax ? value > leader : value < leader) | (value != value);  // NaN beats all but an earlier NaN
}

// The best of a run. Integers go by blocks: most blocks are passed over after one vectorised look at their best value.
template <typename T, bool kMax>
int64_t first_best(const T* x, int64_t count, T& leader, int64_t at, int64_t best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (leader != leader) return best;
    const auto& kernels = row_kernels<T>();
    const T most = kMax ? kernels.max(x, count) : kernels.min(x, count);
    if (!wins<T, kMax>(most, leader)) return best;
    leader = most;
    return at + kernels.find(x, count, most);
  }
  constexpr int64_t kBlock = 64;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    if (leader != leader) return best;
    unsigned better = 0;
    for (int64_t j = 0; j < kBlock; ++j) better |= static_cast<unsigned>(wins<T, kMax>(x[i + j], leader));
    if (!better) continue;
    for (int64_t j = 0; j < kBlock && leader == leader; ++j) {
      if (wins<T, kMax>(x[i + j], leader)) leader = x[i + j], best = at + i + j;
    }
  }
  for (; i < count && leader == leader; ++i) {
    if (wins<T, kMax>(x[i], leader)) leader = x[i], best = at + i;
  }
  return best;
}

template <typename T, bool kMax>
void arg_rows(const Tensor& x, const Lines& lines, int64_t* out) {
  const Source source(x.raw(), x.dtype(), dtype_of<T>(), lines.nest());
  parallel_for(lines.count(), std::max<int64_t>(1, kPiece / lines.size), [&](int64_t begin, int64_t end) {
    alignas(64) T buffer[kRun];
    for (int64_t line = begin; line < end; ++line) {
      const int64_t base = lines.offset(line);
      T leader = *static_cast<const T*>(source.fetch(0, 1, buffer, base));
      int64_t best = 0;  // with a NaN for a leader, nothing else is looked at
      for (int64_t i = 0; i < lines.size; i += kRun) {
        const int64_t n = std::min(kRun, lines.size - i);
        best = first_best<T, kMax>(static_cast<const T*>(source.fetch(i, n, buffer, base)), n, leader, i, best);
      }
      out[line] = best;
    }
  });
}

template <typename T, bool kMax>
void arg_columns(const Tensor& x, const Lines& lines, int64_t* out) {
  const Source source(x.raw(), x.dtype(), dtype_of<T>(), lines.inside);
  const int64_t tiles = (lines.inner + kRun - 1) / kRun;
  const int64_t work = lines.size * std::min(kRun, lines.inner);
  parallel_for(lines.outer * tiles, std::max<int64_t>(1, kPiece / work), [&](int64_t begin, int64_t end) {
    alignas(64) T buffer[kRun], leader[kRun];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % tiles * kRun, n = std::min(kRun, lines.inner - column);
      const int64_t base = lines.offset(task / tiles * lines.inner);
      int64_t* best = out + task / tiles * lines.inner + column;
      std::copy_n(static_cast<const T*>(source.fetch(column, n, buffer, base)), n, leader);
      std::fill_n(best, n, 0);
      for (int64_t r = 1; r < lines.size; ++r) {
        const T* row = static_cast<const T*>(source.fetch(column, n, buffer, base + r * lines.along));
        for (int64_t j = 0; j < n; ++j) {
          const bool better = wins<T, kMax>(row[j], leader[j]) & (leader[j] == leader[j]);
          leader[j] = better ? row[j] : leader[j];
          best[j] = better ? r : best[j];
        }
      }
    }
  });
}

template <typename T>
void arg_as(ArgReduceOp op, const Tensor& x, const Lines& lines, int64_t* out) {
  const bool rows = lines.inner == 1;
  if (op == ArgReduceOp::kArgMax) return rows ? arg_rows<T, true>(x, lines, out) : arg_columns<T, true>(x, lines, out);
  rows ? arg_rows<T, false>(x, lines, out) : arg_columns<T, false>(x, lines, out);
}

}  // namespace

void arg_reduce(ArgReduceOp op, const Tensor& x, int dim, const Tensor& out) {
  if (x.numel() == 0) return;
  const Lines lines(x, dim);
  auto* to = reinterpret_cast<int64_t*>(out.raw());
  visit_dtype(compute_dtype(x.dtype()), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) arg_as<T>(op, x, lines, to);
  });
}

}  // namespace wick::cpu
