#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename From, typename To>
void convert_elements(const Tensor& src, const Tensor& dst) {
  const auto* from = data_of<const From>(src);
  auto* target = data_of<To>(dst);
  const int64_t count = src.numel();
  if (src.is_contiguous() && dst.is_contiguous() && count % 4 == 0 && aligned(from, 4 * sizeof(From)) &&
      aligned(target, 4 * sizeof(To))) {
    for_each_index(src.device(), "copy", count / 4, [=] __device__(int64_t i) {
      const auto values = reinterpret_cast<const Four<From>*>(from)[i];
      Four<To> result;
#pragma unroll
      for (int j = 0; j < 4; ++j) result.at[j] = to<To>(values.at[j]);
      reinterpret_cast<Four<To>*>(target)[i] = result;
    });
    return;
  }
  for_each_element<2>(src.device(), "copy", src.shape(), {src.strides(), dst.strides()},
                      [=] __device__(const int64_t(&at)[2]) { target[at[1]] = to<To>(from[at[0]]); });
}

}  // namespace

void copy(const Tensor& src, const Tensor& dst) {
  if (src.numel() == 0) return;
  if (src.dtype() == dst.dtype() && src.is_contiguous() && dst.is_contiguous()) {
    const Runtime& use = runtime(src.device());
    const auto bytes = static_cast<size_t>(bytes_of(src.dtype(), src.numel()));
    check(cudaMemcpyAsync(dst.raw(), src.raw(), bytes, cudaMemcpyDeviceToDevice, use.stream), src.device(), "copy");
    return;
  }
  visit_device_dtype(src.dtype(), [&](auto from) {
    visit_device_dtype(dst.dtype(), [&](auto target) { convert_elements<decltype(from), decltype(target)>(src, dst); });
  });
}

}  // namespace wick::cuda
