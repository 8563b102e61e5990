#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

void copy(const Tensor& src, const Tensor& dst) {
  visit_dtype(src.dtype(), [&](auto from) {
    visit_dtype(dst.dtype(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      const View<From> in(src);
      const View<To> out(dst);
      for_each_index(src.shape(), [&](const Index& i) { out[i] = convert<To>(in[i]); });
    });
  });
}

}  // namespace wick::reference
