#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename T>
void run(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto* chosen = data_of<const uint8_t>(condition);
  const auto *left = data_of<const T>(a), *right = data_of<const T>(b);
  auto* target = data_of<T>(out);
  for_each_element<4>(
      out.device(), "where", out.shape(), {condition.strides(), a.strides(), b.strides(), out.strides()},
      [=] __device__(const int64_t(&at)[4]) { target[at[3]] = chosen[at[0]] ? left[at[1]] : right[at[2]]; });
}

}  // namespace

void where(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& out) {
  visit_device_dtype(out.dtype(), [&](auto zero) { run<decltype(zero)>(condition, a, b, out); });
}

}  // namespace wick::cuda
