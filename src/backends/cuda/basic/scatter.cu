#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// A line along dim is written by one thread, in order: the last write wins, and sums do not depend on timing.
template <typename T>
void run(const Tensor& out, int dim, const Tensor& index, const Tensor& src, bool adds) {
  const auto* from = data_of<const T>(src);
  const auto* places = data_of<const int64_t>(index);
  auto* target = data_of<T>(out);
  const auto lines = make_lines<3>(index.shape(), {src.strides(), index.strides(), out.strides()}, dim);
  for_each_index(out.device(), "scatter", lines.walk.total, [=] __device__(int64_t line) {
    int64_t at[3];
    lines.walk.offsets(line, at);
    for (int64_t i = 0; i < lines.size; ++i) {
      const T value = from[at[0] + i * lines.steps[0]];
      T& place = target[at[2] + places[at[1] + i * lines.steps[1]] * lines.steps[2]];
      place = adds ? to<T>(widen(place) + widen(value)) : value;
    }
  });
}

}  // namespace

void scatter(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  visit_device_dtype(out.dtype(), [&](auto zero) { run<decltype(zero)>(out, dim, index, src, false); });
}

void scatter_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  visit_device_dtype(out.dtype(), [&](auto zero) { run<decltype(zero)>(out, dim, index, src, true); });
}

}  // namespace wick::cuda
