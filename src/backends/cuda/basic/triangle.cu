#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename T>
void run(Triangle part, const Tensor& x, int64_t diagonal, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  const int64_t rows = x.dim(-2), cols = x.dim(-1);
  const bool lower = part == Triangle::kLower;
  // out is row-major, so that its offset gives the row and the column.
  for_each_element<2>(out.device(), "triangle", out.shape(), {x.strides(), out.strides()},
                      [=] __device__(const int64_t(&at)[2]) {
                        const int64_t col = at[1] % cols, edge = at[1] / cols % rows + diagonal;
                        target[at[1]] = (lower ? col <= edge : col >= edge) ? from[at[0]] : to<T>(0);
                      });
}

}  // namespace

void triangle(Triangle part, const Tensor& x, int64_t diagonal, const Tensor& out) {
  visit_device_dtype(x.dtype(), [&](auto zero) { run<decltype(zero)>(part, x, diagonal, out); });
}

}  // namespace wick::cuda
