#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename T>
void run(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  const auto* places = data_of<const int64_t>(index);
  auto* target = data_of<T>(out);
  Strides others = x.strides();
  const int64_t step = others[static_cast<size_t>(dim)];
  others[static_cast<size_t>(dim)] = 0;
  for_each_element<3>(out.device(), "gather", out.shape(), {others, index.strides(), out.strides()},
                      [=] __device__(const int64_t(&at)[3]) { target[at[2]] = from[at[0] + places[at[1]] * step]; });
}

}  // namespace

void gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  visit_device_dtype(x.dtype(), [&](auto zero) { run<decltype(zero)>(x, dim, index, out); });
}

}  // namespace wick::cuda
