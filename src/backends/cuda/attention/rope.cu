#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// A thread per component of the first half of a vector, and per component that passes through.
template <typename T>
void run(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  const auto *cosine = data_of<const float>(cos), *sine = data_of<const float>(sin);
  const int64_t pairs = cos.dim(1), dim = x.dim(-1), tokens = x.dim(-2), work = dim - pairs;
  const int64_t cos_row = cos.strides()[0], cos_step = cos.strides()[1];
  const int64_t sin_row = sin.strides()[0], sin_step = sin.strides()[1];
  const auto lines = make_lines<2>(x.shape(), {x.strides(), out.strides()}, x.rank() - 1);
  for_each_index(x.device(), "rope", lines.walk.total * work, [=] __device__(int64_t i) {
    const int64_t line = i / work, j = i % work, token = line % tokens;
    int64_t at[2];
    lines.walk.offsets(line, at);
    const auto value = [&](int64_t k) { return static_cast<Sum<T>>(widen(from[at[0] + k * lines.steps[0]])); };
    if (j >= pairs) {
      target[at[1] + j + pairs] = from[at[0] + (j + pairs) * lines.steps[0]];
      return;
    }
    const int64_t first = interleaved ? 2 * j : j, second = interleaved ? 2 * j + 1 : j + pairs;
    const Sum<T> a = value(first), b = value(second);
    const Sum<T> c = cosine[token * cos_row + j * cos_step], s = sine[token * sin_row + j * sin_step];
    target[at[1] + first] = to<T>(a * c - b * s);
    target[at[1] + second] = to<T>(a * s + b * c);
  });
}

}  // namespace

void rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, const Tensor& out) {
  if (x.numel() == 0) return;
  visit_float(x.dtype(), [&](auto zero) { run<decltype(zero)>(x, cos, sin, interleaved, out); });
}

}  // namespace wick::cuda
