#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  const View<int64_t> places(index);
  visit_dtype(x.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(x), to(out);
    for_each_index(index.shape(), [&](const Index& i) { to[i] = in[moved(i, dim, places[i])]; });
  });
}

}  // namespace wick::reference
