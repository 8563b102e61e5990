#include "backends/cpu/basic/index_rows.h"
#include "backends/cpu/kernels.h"

namespace wick::cpu {

void gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  visit_width(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_free_run(index.shape(), index_strides(x, out, index.strides(), dim), x.strides()[dim],
                      [&](const IndexRun& run) {
                        take_run(elements<const T>(x), elements<T>(out), elements<const int64_t>(index), run);
                      });
  });
}

}  // namespace wick::cpu
