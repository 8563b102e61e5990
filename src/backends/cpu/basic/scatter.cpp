#include "backends/cpu/basic/index_rows.h"
#include "backends/cpu/kernels.h"

namespace wick::cpu {

void scatter(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  visit_width(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_ordered_run(index.shape(), index_strides(out, src, index.strides(), dim), dim, out.strides()[dim],
                         [&](const IndexRun& run) {
                           put_run(elements<T>(out), elements<const T>(src), elements<const int64_t>(index), run);
                         });
  });
}

void scatter_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  visit_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_ordered_run(index.shape(), index_strides(out, src, index.strides(), dim), dim, out.strides()[dim],
                         [&](const IndexRun& run) {
                           add_run(elements<T>(out), elements<const T>(src), elements<const int64_t>(index), run);
                         });
  });
}

}  // namespace wick::cpu
