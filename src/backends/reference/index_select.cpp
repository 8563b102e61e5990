#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  const View<int64_t> places(index);
  visit_dtype(x.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(x), to(out);
    for_each_index(out.shape(), [&](const Index& i) { to[i] = in[moved(i, dim, places[{i[dim]}])]; });
  });
}

void index_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  const View<int64_t> places(index);
  visit_dtype(out.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(src), to(out);
    for_each_index(src.shape(), [&](const Index& i) {
      const Index target = moved(i, dim, places[{i[dim]}]);
      to.set(target, to.get(target) + in.get(i));
    });
  });
}

}  // namespace wick::reference
