#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void matmul(const Tensor& a, const Tensor& b, const Tensor& out) {
  const FloatView left(a), right(b), to(out);
  const int row = a.rank() - 2, col = a.rank() - 1;
  for_each_index(out.shape(), [&](const Index& i) {
    double total = 0;
    for (int64_t k = 0; k < a.dim(col); ++k) total += left.get(moved(i, col, k)) * right.get(moved(i, row, k));
    to.set(i, total);
  });
}

}  // namespace wick::reference
