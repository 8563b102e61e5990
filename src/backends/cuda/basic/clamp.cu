#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename T>
void run(const Tensor& x, double low, double high, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  for_each_element<2>(out.device(), "clamp", out.shape(), {x.strides(), out.strides()},
                      [=] __device__(const int64_t(&at)[2]) {
                        const auto least = widen(to<T>(low)), most = widen(to<T>(high));  // within the dtype's range
                        const auto value = widen(from[at[0]]);
                        target[at[1]] = to<T>(value < least ? least : value > most ? most : value);
                      });
}

}  // namespace

void clamp(const Tensor& x, double low, double high, const Tensor& out) {
  visit_device_dtype(x.dtype(), [&](auto zero) { run<decltype(zero)>(x, low, high, out); });
}

}  // namespace wick::cuda
