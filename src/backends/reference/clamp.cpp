#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

void clamp(const Tensor& x, double low, double high, const Tensor& out) {
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in(x), to(out);
    const auto least = widen(convert<T>(low)), most = widen(convert<T>(high));  // saturates at the dtype's range
    for_each_index(x.shape(), [&](const Index& i) {
      const Wide<T> value = in.get(i);
      to.set(i, value < least ? least : value > most ? most : value);
    });
  });
}

}  // namespace wick::reference
