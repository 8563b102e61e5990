#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void scatter(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  const View<int64_t> places(index);
  visit_dtype(out.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(src), to(out);
    for_each_index(index.shape(), [&](const Index& i) { to[moved(i, dim, places[i])] = in[i]; });
  });
}

void scatter_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  const View<int64_t> places(index);
  visit_dtype(out.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(src), to(out);
    for_each_index(index.shape(), [&](const Index& i) {
      const Index target = moved(i, dim, places[i]);
      to.set(target, to.get(target) + in.get(i));
    });
  });
}

}  // namespace wick::reference
