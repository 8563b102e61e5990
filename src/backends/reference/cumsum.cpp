#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void cumsum(const Tensor& x, int dim, const Tensor& out) {
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in(x), to(out);
    for_each_line(x.shape(), dim, [&](const Index& line) {
      Wide<T> total = 0;
      for (int64_t i = 0; i < x.dim(dim); ++i) {
        total += in.get(moved(line, dim, i));
        to.set(moved(line, dim, i), total);
      }
    });
  });
}

}  // namespace wick::reference
