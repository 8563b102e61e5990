#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

void where(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& out) {
  const View<uint8_t> chosen(condition);
  visit_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in_a(a), in_b(b), to(out);
    for_each_index(out.shape(), [&](const Index& i) { to[i] = chosen[i] ? in_a[i] : in_b[i]; });
  });
}

}  // namespace wick::reference
