#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/lines.h"
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
  if (is_float(x.dtype())) return cumsum_as<double>(x, lines, out);
  cumsum_as<int64_t>(x, lines, out);
}

}  // namespace wick::cpu
