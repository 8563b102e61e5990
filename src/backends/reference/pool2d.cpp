#include <vector>

#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

void avg_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out) {
  const FloatView in(x), to(out);
  for_each_index(out.shape(), [&](const Index& o) {
    double total = 0;
    for_each_index({params.kernel_h, params.kernel_w}, [&](const Index& k) {
      total += in.get({o[0], o[1], o[2] * params.stride_h + k[0], o[3] * params.stride_w + k[1]});
    });
    to.set(o, total / static_cast<double>(params.kernel_h * params.kernel_w));
  });
}

void avg_pool2d_grad(const Tensor& grad, const Pool2dParams& params, const Tensor& out) {
  const FloatView slope(grad), to(out);
  std::vector<double> totals(out.numel(), 0);
  for_each_index(grad.shape(), [&](const Index& o) {
    const double share = slope.get(o) / static_cast<double>(params.kernel_h * params.kernel_w);
    for_each_index({params.kernel_h, params.kernel_w}, [&](const Index& k) {
      totals[offset_of(out, {o[0], o[1], o[2] * params.stride_h + k[0], o[3] * params.stride_w + k[1]})] += share;
    });
  });
  for_each_index(out.shape(), [&](const Index& i) { to.set(i, totals[offset_of(out, i)]); });
}

void max_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out, const Tensor& indices) {
  const View<int64_t> places(indices);
  visit_dtype(x.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(x), to(out);
    for_each_index(out.shape(), [&](const Index& o) {
      bool first = true;
      for_each_index({params.kernel_h, params.kernel_w}, [&](const Index& k) {
        const Index i = {o[0], o[1], o[2] * params.stride_h + k[0], o[3] * params.stride_w + k[1]};
        if (!first && to.get(o) != to.get(o)) return;  // NaN stays
        if (first || in.get(i) > to.get(o) || in.get(i) != in.get(i)) {
          to[o] = in[i];
          places[o] = i[2] * x.dim(3) + i[3];
        }
        first = false;
      });
    });
  });
}

}  // namespace wick::reference
