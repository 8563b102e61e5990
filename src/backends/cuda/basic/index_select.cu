#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// The strides of a vector [n] seen in the shape whose dimension `dim` it runs along.
Strides along(const Tensor& vector, int dim) {
  Strides strides{};
  strides[static_cast<size_t>(dim)] = vector.strides()[0];
  return strides;
}

template <typename T>
void select_elements(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  const auto* places = data_of<const int64_t>(index);
  auto* target = data_of<T>(out);
  Strides others = x.strides();
  const int64_t step = others[static_cast<size_t>(dim)];
  others[static_cast<size_t>(dim)] = 0;
  for_each_element<3>(out.device(), "index_select", out.shape(), {others, along(index, dim), out.strides()},
                      [=] __device__(const int64_t(&at)[3]) { target[at[2]] = from[at[0] + places[at[1]] * step]; });
}

// One thread adds up what goes to its places, in order: the result does not depend on timing.
template <typename T>
void add_lines(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  const auto* from = data_of<const T>(src);
  const auto* places = data_of<const int64_t>(index);
  auto* target = data_of<T>(out);
  const auto lines = make_lines<2>(src.shape(), {src.strides(), out.strides()}, dim);
  const int64_t index_step = index.strides()[0];
  for_each_index(out.device(), "index_add", lines.walk.total, [=] __device__(int64_t line) {
    int64_t at[2];
    lines.walk.offsets(line, at);
    for (int64_t i = 0; i < lines.size; ++i) {
      T& sum = target[at[1] + places[i * index_step] * lines.steps[1]];
      sum = to<T>(widen(sum) + widen(from[at[0] + i * lines.steps[0]]));
    }
  });
}

}  // namespace

void index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  visit_device_dtype(x.dtype(), [&](auto zero) { select_elements<decltype(zero)>(x, dim, index, out); });
}

void index_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  visit_device_dtype(out.dtype(), [&](auto zero) { add_lines<decltype(zero)>(out, dim, index, src); });
}

}  // namespace wick::cuda
