#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

struct Taps {
  const int64_t* index;
  const void* weight;  // f64 for f64 images, else f32
  int64_t count, index_row, index_step, weight_row, weight_step;
};

Taps make_taps(const Tensor& index, const Tensor& weight) {
  return {
      data_of<const int64_t>(index), data_of<const void>(weight), index.dim(1), index.strides()[0], index.strides()[1],
      weight.strides()[0],           weight.strides()[1]};
}

template <typename T>
void run(const Tensor& x, const Taps& rows, const Taps& cols, const Tensor& out) {
  using Weight = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  const int64_t s0 = x.strides()[0], s1 = x.strides()[1], s2 = x.strides()[2], s3 = x.strides()[3];
  const int64_t channels = out.dim(1), height = out.dim(2), width = out.dim(3);
  for_each_index(out.device(), "resample2d", out.numel(), [=] __device__(int64_t i) {
    const int64_t col = i % width, row = i / width % height, plane = i / (width * height);
    const T* image = from + plane / channels * s0 + plane % channels * s1;
    const auto *row_weight = static_cast<const Weight*>(rows.weight) + row * rows.weight_row,
               *col_weight = static_cast<const Weight*>(cols.weight) + col * cols.weight_row;
    double total = 0;
    for (int64_t r = 0; r < rows.count; ++r) {
      const T* line = image + rows.index[row * rows.index_row + r * rows.index_step] * s2;
      for (int64_t c = 0; c < cols.count; ++c) {
        total += static_cast<double>(row_weight[r * rows.weight_step]) *
                 static_cast<double>(col_weight[c * cols.weight_step]) *
                 to<double>(line[cols.index[col * cols.index_row + c * cols.index_step] * s3]);
      }
    }
    target[i] = to<T>(total);
  });
}

}  // namespace

void resample2d(const Tensor& x, const Tensor& rows_index, const Tensor& rows_weight, const Tensor& cols_index,
                const Tensor& cols_weight, const Tensor& out) {
  const Taps rows = make_taps(rows_index, rows_weight), cols = make_taps(cols_index, cols_weight);
  visit_float(x.dtype(), [&](auto zero) { run<decltype(zero)>(x, rows, cols, out); });
}

}  // namespace wick::cuda
