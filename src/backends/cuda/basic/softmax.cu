#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// A block per line; the line is read three times, which the cache makes cheap.
template <typename T>
__global__ void softmax_kernel(const T* x, Lines<2> lines, bool logarithm, T* out) {
  using W = Sum<T>;
  __shared__ W shared[32];
  for (int64_t line = blockIdx.x; line < lines.walk.total; line += gridDim.x) {
    int64_t at[2];
    lines.walk.offsets(line, at);
    const T* from = x + at[0];
    T* target = out + at[1];
    const W lowest = -INFINITY;
    W most = lowest, total = 0;
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      most = fmax(most, static_cast<W>(widen(from[i * lines.steps[0]])));
    }
    most = block_combine(most, shared, lowest, [](W a, W b) { return fmax(a, b); });
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      total += exp(static_cast<W>(widen(from[i * lines.steps[0]])) - most);
    }
    total = block_combine(total, shared, W(0), [](W a, W b) { return a + b; });
    const W log_total = log(total);
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      const W value = static_cast<W>(widen(from[i * lines.steps[0]])) - most;
      target[i * lines.steps[1]] = to<T>(logarithm ? value - log_total : exp(value) / total);
    }
  }
}

void run(const Tensor& x, int dim, bool logarithm, const Tensor& out) {
  if (x.numel() == 0) return;
  const Runtime& use = runtime(x.device());
  const auto lines = make_lines<2>(x.shape(), {x.strides(), out.strides()}, dim);
  const int threads = lines.size <= 128 ? 32 : lines.size <= 2048 ? 256 : 1024;
  visit_float(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    softmax_kernel<T><<<blocks_for(lines.walk.total, 1), threads, 0, use.stream>>>(data_of<const T>(x), lines,
                                                                                   logarithm, data_of<T>(out));
  });
  check_launch(x.device(), "softmax");
}

}  // namespace

void softmax(const Tensor& x, int dim, const Tensor& out) { run(x, dim, false, out); }
void log_softmax(const Tensor& x, int dim, const Tensor& out) { run(x, dim, true, out); }

}  // namespace wick::cuda
