#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

void resample2d(const Tensor& x, const Tensor& rows_index, const Tensor& rows_weight, const Tensor& cols_index,
                const Tensor& cols_weight, const Tensor& out) {
  const FloatView in(x), to(out), row_weight(rows_weight), col_weight(cols_weight);
  const View<int64_t> row(rows_index), col(cols_index);
  for_each_index(out.shape(), [&](const Index& o) {
    double total = 0;
    for_each_index({rows_index.dim(1), cols_index.dim(1)}, [&](const Index& tap) {
      const Index r = {o[2], tap[0]}, c = {o[3], tap[1]};
      total += row_weight.get(r) * col_weight.get(c) * in.get({o[0], o[1], row[r], col[c]});
    });
    to.set(o, total);
  });
}

}  // namespace wick::reference
