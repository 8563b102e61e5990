#include <algorithm>

#include "backends/cpu/basic/lines.h"
#include "backends/cpu/basic/transpose.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;
constexpr int64_t kRun = 1024;

// Running totals are kept in f64 (i64 for integers, which wrap around), as in the reference: equal to the last bit.
template <typename Total>
Total plus(Total a, Total b) {
  if constexpr (std::is_integral_v<Total>) {
    return static_cast<Total>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// Dense rows of f32: sixteen side by side, since each sum waits for the one before.
void cumsum_floats(const Tensor& x, const Lines& lines, const Tensor& out) {
  constexpr int64_t kTogether = kTransposeBlock;
  const int64_t size = lines.size;
  const auto* from = reinterpret_cast<const float*>(x.raw());
  auto* to = reinterpret_cast<float*>(out.raw());
  const bool streams =
      lines.count() * size * 4 >= kStreamBytes && size % 16 == 0 && reinterpret_cast<uintptr_t>(to) % 64 == 0;
  const int64_t groups = lines.count() / kTogether;
  const auto finish = [&](int64_t line, int64_t i, double total) {  // what is left of a row
    const float* row = from + lines.offset(line);
    for (; i < size; ++i) to[line * size + i] = static_cast<float>(total += static_cast<double>(row[i]));
  };
  parallel_for(groups, std::max<int64_t>(1, kPiece / size / kTogether), [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t line = group * kTogether, base = lines.offset(line), apart = lines.offset(line + 1) - base;
      if (lines.offset(line + kTogether - 1) != base + (kTogether - 1) * apart) {  // not evenly spaced
        for (int64_t k = 0; k < kTogether; ++k) finish(line + k, 0, 0);
        continue;
      }
      double totals[kTogether] = {};
      int64_t i = 0;
      for (; i + kTogether <= size; i += kTogether) {
        cumsum_block(from + base + i, apart, to + line * size + i, size, streams, totals);
      }
      for (int64_t k = 0; k < kTogether; ++k) finish(line + k, i, totals[k]);
    }
    if (streams) end_stream();
  });
  for (int64_t line = groups * kTogether; line < lines.count(); ++line) finish(line, 0, 0);
}

template <typename Total>
void cumsum_as(const Tensor& x, const Lines& lines, const Tensor& out) {
  const DType compute = dtype_of<Total>();
  const Sink sink(out, compute);
  if (lines.inner == 1) {
    const Source source(x.raw(), x.dtype(), compute, lines.nest());
    parallel_for(lines.count(), std::max<int64_t>(1, kPiece / lines.size), [&](int64_t begin, int64_t end) {
      Total in[kRun], made[kRun];
      for (int64_t line = begin; line < end; ++line) {
        Total total = 0;
        for (int64_t i = 0; i < lines.size; i += kRun) {
          const int64_t n = std::min(kRun, lines.size - i);
          const auto* from = static_cast<const Total*>(source.fetch(i, n, in, lines.offset(line)));
          for (int64_t j = 0; j < n; ++j) made[j] = total = plus(total, from[j]);
          sink.convert(reinterpret_cast<const std::byte*>(made), 1, sink.data + (line * lines.size + i) * sink.size, 1,
                       n);
        }
      }
    });
    return;
  }
  const Source source(x.raw(), x.dtype(), compute, lines.inside);
  const int64_t tiles = (lines.inner + kRun - 1) / kRun;
  const int64_t work = lines.size * std::min(kRun, lines.inner);
  parallel_for(lines.outer * tiles, std::max<int64_t>(1, kPiece / work), [&](int64_t begin, int64_t end) {
    Total in[kRun], totals[kRun];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % tiles * kRun, n = std::min(kRun, lines.inner - column);
      const int64_t base = offset_at(lines.around, task / tiles * lines.inner);
      std::fill_n(totals, n, Total{0});
      for (int64_t r = 0; r < lines.size; ++r) {
        const auto* from = static_cast<const Total*>(source.fetch(column, n, in, base + r * lines.along));
        for (int64_t j = 0; j < n; ++j) totals[j] = plus(totals[j], from[j]);
        const int64_t at = (task / tiles * lines.size + r) * lines.inner + column;
        sink.convert(reinterpret_cast<const std::byte*>(totals), 1, sink.data + at * sink.size, 1, n);
      }
    }
  });
}

}  // namespace

void cumsum(const Tensor& x, int dim, const Tensor& out) {
  if (x.numel() == 0) return;
  const Lines lines(x, dim);
  const bool dense = lines.inner == 1 && (lines.along == 1 || lines.size == 1);
  if (dense && x.dtype() == DType::kF32 && out.dtype() == DType::kF32) return cumsum_floats(x, lines, out);
  if (is_float(x.dtype())) return cumsum_as<double>(x, lines, out);
  cumsum_as<int64_t>(x, lines, out);
}

}  // namespace wick::cpu
