#include <algorithm>
#include <cstring>

#include "backends/cpu/basic/lines.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {

void triangle(Triangle part, const Tensor& x, int64_t diagonal, const Tensor& out) {
  if (x.numel() == 0) return;
  const Lines lines(x, x.rank() - 1);
  const int64_t rows = x.dim(-2), cols = lines.size, size = size_of(x.dtype());
  diagonal = std::clamp(diagonal, -rows - 1, cols + 1);  // further out nothing changes
  const ConvertFn copy_run = converter(x.dtype(), x.dtype());
  parallel_for(lines.count(), std::max<int64_t>(1, 16384 / cols), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      // The row's kept columns are [first, last).
      const int64_t edge = line % rows + diagonal;
      const int64_t first = part == Triangle::kLower ? 0 : std::clamp<int64_t>(edge, 0, cols);
      const int64_t last = part == Triangle::kLower ? std::clamp<int64_t>(edge + 1, 0, cols) : cols;
      std::byte* to = out.raw() + line * cols * size;
      std::memset(to, 0, first * size);
      copy_run(x.raw() + (lines.offset(line) + first * lines.along) * size, lines.along, to + first * size, 1,
               last - first);
      std::memset(to + last * size, 0, (cols - last) * size);
    }
  });
}

}  // namespace wick::cpu
