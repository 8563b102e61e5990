#include "backends/cpu/basic/index_rows.h"
#include "backends/cpu/kernels.h"

namespace wick::cpu {
namespace {

// A list of positions along `dim`, the same for all other dims.
Strides list_strides(const Tensor& index, int dim) {
  Strides strides{};
  strides[dim] = index.strides()[0];
  return strides;
}

}  // namespace

void index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  visit_width(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_free_run(out.shape(), index_strides(x, out, list_strides(index, dim), dim), x.strides()[dim],
                      [&](const IndexRun& run) {
                        take_run(elements<const T>(x), elements<T>(out), elements<const int64_t>(index), run);
                      });
  });
}

void index_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  visit_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_ordered_run(src.shape(), index_strides(out, src, list_strides(index, dim), dim), dim, out.strides()[dim],
                         [&](const IndexRun& run) {
                           add_run(elements<T>(out), elements<const T>(src), elements<const int64_t>(index), run);
                         });
  });
}

}  // namespace wick::cpu
