#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// One thread adds up a line, in order.
template <typename T>
void run(const Tensor& x, int dim, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  const auto lines = make_lines<2>(x.shape(), {x.strides(), out.strides()}, dim);
  if (lines.size == 0) return;
  for_each_index(out.device(), "cumsum", lines.walk.total, [=] __device__(int64_t line) {
    int64_t at[2];
    lines.walk.offsets(line, at);
    std::conditional_t<kIsFloat<T>, double, int64_t> total = 0;
    for (int64_t i = 0; i < lines.size; ++i) {
      total += widen(from[at[0] + i * lines.steps[0]]);
      target[at[1] + i * lines.steps[1]] = to<T>(total);
    }
  });
}

}  // namespace

void cumsum(const Tensor& x, int dim, const Tensor& out) {
  visit_device_dtype(x.dtype(), [&](auto zero) { run<decltype(zero)>(x, dim, out); });
}

}  // namespace wick::cuda
