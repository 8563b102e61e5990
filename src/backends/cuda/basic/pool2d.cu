#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

struct Plane {  // strides of x [batch, channels, h, w] and the sizes of the result
  int64_t strides[4], channels, height, width;
  __device__ int64_t base(int64_t i) const {  // of the plane that result i lies in
    const int64_t plane = i / (height * width);
    return plane / channels * strides[0] + plane % channels * strides[1];
  }
  __device__ int64_t row(int64_t i) const { return i / width % height; }
  __device__ int64_t col(int64_t i) const { return i % width; }
};

Plane make_plane(const Tensor& x, const Tensor& out) {
  return {{x.strides()[0], x.strides()[1], x.strides()[2], x.strides()[3]}, out.dim(1), out.dim(2), out.dim(3)};
}

template <typename T>
void run_avg(const Tensor& x, const Pool2dParams& p, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  const Plane plane = make_plane(x, out);
  for_each_index(out.device(), "avg_pool2d", out.numel(), [=] __device__(int64_t i) {
    const T* image = from + plane.base(i);
    double total = 0;
    for (int64_t h = 0; h < p.kernel_h; ++h) {
      for (int64_t w = 0; w < p.kernel_w; ++w) {
        total += to<double>(image[(plane.row(i) * p.stride_h + h) * plane.strides[2] +
                                  (plane.col(i) * p.stride_w + w) * plane.strides[3]]);
      }
    }
    target[i] = to<T>(total / static_cast<double>(p.kernel_h * p.kernel_w));
  });
}

template <typename T>
void run_avg_grad(const Tensor& grad, const Pool2dParams& p, const Tensor& out) {
  const auto* from = data_of<const T>(grad);
  auto* target = data_of<T>(out);
  const Plane plane = make_plane(grad, out);
  const int64_t rows = grad.dim(2), cols = grad.dim(3);
  for_each_index(out.device(), "avg_pool2d_grad", out.numel(), [=] __device__(int64_t i) {
    const T* slope = from + plane.base(i);
    double total = 0;
    for (int64_t h = 0; h < p.kernel_h; ++h) {
      const int64_t row = plane.row(i) - h;
      if (row < 0 || row % p.stride_h || row / p.stride_h >= rows) continue;
      for (int64_t w = 0; w < p.kernel_w; ++w) {
        const int64_t col = plane.col(i) - w;
        if (col < 0 || col % p.stride_w || col / p.stride_w >= cols) continue;
        total += to<double>(slope[row / p.stride_h * plane.strides[2] + col / p.stride_w * plane.strides[3]]);
      }
    }
    target[i] = to<T>(total / static_cast<double>(p.kernel_h * p.kernel_w));
  });
}

template <typename T>
void run_max(const Tensor& x, const Pool2dParams& p, const Tensor& out, const Tensor& indices) {
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  auto* places = data_of<int64_t>(indices);
  const Plane plane = make_plane(x, out);
  const int64_t width = x.dim(3);
  for_each_index(out.device(), "max_pool2d", out.numel(), [=] __device__(int64_t i) {
    const T* image = from + plane.base(i);
    T best{};
    int64_t best_place = -1;
    for (int64_t h = 0; h < p.kernel_h; ++h) {
      for (int64_t w = 0; w < p.kernel_w; ++w) {
        const int64_t row = plane.row(i) * p.stride_h + h, col = plane.col(i) * p.stride_w + w;
        const T value = image[row * plane.strides[2] + col * plane.strides[3]];
        const auto wide = widen(value), leader = widen(best);
        if (best_place >= 0 && (leader != leader || !(wide > leader || wide != wide))) continue;  // NaN stays
        best = value;
        best_place = row * width + col;
      }
    }
    target[i] = best;
    places[i] = best_place;
  });
}

}  // namespace

void avg_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out) {
  visit_float(x.dtype(), [&](auto zero) { run_avg<decltype(zero)>(x, params, out); });
}

void avg_pool2d_grad(const Tensor& grad, const Pool2dParams& params, const Tensor& out) {
  visit_float(grad.dtype(), [&](auto zero) { run_avg_grad<decltype(zero)>(grad, params, out); });
}

void max_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out, const Tensor& indices) {
  visit_device_dtype(x.dtype(), [&](auto zero) { run_max<decltype(zero)>(x, params, out, indices); });
}

}  // namespace wick::cuda
