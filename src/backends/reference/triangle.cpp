#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

void triangle(Triangle part, const Tensor& x, int64_t diagonal, const Tensor& out) {
  const int row = x.rank() - 2, col = x.rank() - 1;
  visit_dtype(x.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(x), to(out);
    for_each_index(x.shape(), [&](const Index& i) {
      const bool keep = part == Triangle::kLower ? i[col] <= i[row] + diagonal : i[col] >= i[row] + diagonal;
      to[i] = keep ? in[i] : decltype(zero){};
    });
  });
}

}  // namespace wick::reference
