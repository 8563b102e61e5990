#include <initializer_list>
#include <type_traits>

#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

// Plain convolutions, one thread per result, added up in f64.
namespace wick::cuda {
namespace {

struct Strides4 {
  int64_t at[4];
  __device__ int64_t operator()(int64_t a, int64_t b, int64_t c, int64_t d) const {
    return a * at[0] + b * at[1] + c * at[2] + d * at[3];
  }
};

Strides4 strides4(const Tensor& x) { return {{x.strides()[0], x.strides()[1], x.strides()[2], x.strides()[3]}}; }

struct Sizes4 {
  int64_t n, c, h, w;
  __device__ void split(int64_t index, int64_t (&at)[4]) const {
    at[3] = index % w;
    at[2] = index / w % h;
    at[1] = index / (w * h) % c;
    at[0] = index / (w * h * c);
  }
};

Sizes4 sizes4(const Tensor& x) { return {x.dim(0), x.dim(1), x.dim(2), x.dim(3)}; }

// The elements of a tensor, of a dtype that the kernel knows.
template <typename T>
struct Typed {
  T* data = nullptr;

  explicit Typed(const Tensor& x) : data(data_or_null<T>(x)) {}
  __device__ __forceinline__ double get(int64_t i) const { return to<double>(data[i]); }
  __device__ __forceinline__ void set(int64_t i, double value) const { data[i] = to<T>(value); }
};

// The same of any float dtype: image, weights and result may differ.
struct Mixed {
  void* data = nullptr;
  DType dtype = DType::kF32;

  explicit Mixed(const Tensor& x) : data(data_or_null<void>(x)), dtype(x.defined() ? x.dtype() : DType::kF32) {}
  template <typename T>
  __device__ __forceinline__ T& at(int64_t i) const {
    return static_cast<T*>(data)[i];
  }
  __device__ double get(int64_t i) const {
    switch (dtype) {
      case DType::kF64: return at<double>(i);
      case DType::kF16: return to<double>(at<__half>(i));
      case DType::kBF16: return to<double>(at<__nv_bfloat16>(i));
      default: return at<float>(i);
    }
  }
  __device__ void set(int64_t i, double value) const {
    switch (dtype) {
      case DType::kF64: at<double>(i) = value; return;
      case DType::kF16: at<__half>(i) = to<__half>(value); return;
      case DType::kBF16: at<__nv_bfloat16>(i) = to<__nv_bfloat16>(value); return;
      default: at<float>(i) = to<float>(value);
    }
  }
};

// Calls body with the view that suits all of them.
template <typename Body>
void visit_views(std::initializer_list<const Tensor*> tensors, const Body& body) {
  const DType dtype = (*tensors.begin())->dtype();
  for (const Tensor* x : tensors) {
    if (x->defined() && x->dtype() != dtype) return body(std::type_identity<Mixed>{});
  }
  visit_float(dtype, [&](auto zero) { body(std::type_identity<Typed<decltype(zero)>>{}); });
}

template <typename View>
void run_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p, const Tensor& out) {
  const View image(x), kernel(weight), shift(bias), target(out);
  const Strides4 image_at = strides4(x), kernel_at = strides4(weight);
  const Sizes4 in = sizes4(x), taps = sizes4(weight), result = sizes4(out);
  const int64_t outs_per_group = taps.n / p.groups, bias_step = bias.defined() ? bias.strides()[0] : 0;
  for_each_index(out.device(), "conv2d", out.numel(), [=] __device__(int64_t i) {
    int64_t o[4];
    result.split(i, o);
    const int64_t first = o[1] / outs_per_group * taps.c;
    double total = shift.data ? shift.get(o[1] * bias_step) : 0;
    for (int64_t c = 0; c < taps.c; ++c) {
      for (int64_t kh = 0; kh < taps.h; ++kh) {
        const int64_t h = o[2] * p.stride_h + kh * p.dilation_h - p.padding_h;
        if (h < 0 || h >= in.h) continue;
        for (int64_t kw = 0; kw < taps.w; ++kw) {
          const int64_t w = o[3] * p.stride_w + kw * p.dilation_w - p.padding_w;
          if (w < 0 || w >= in.w) continue;
          total += image.get(image_at(o[0], first + c, h, w)) * kernel.get(kernel_at(o[1], c, kh, kw));
        }
      }
    }
    target.set(i, total);
  });
}

// x is conv2d's output here, and out its image.
template <typename View>
void run_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p,
                    const Tensor& out) {
  const View from(x), kernel(weight), shift(bias), target(out);
  const Strides4 from_at = strides4(x), kernel_at = strides4(weight);
  const Sizes4 in = sizes4(x), taps = sizes4(weight), result = sizes4(out);
  const int64_t outs_per_group = taps.n / p.groups, bias_step = bias.defined() ? bias.strides()[0] : 0;
  for_each_index(out.device(), "conv_transpose2d", out.numel(), [=] __device__(int64_t i) {
    int64_t o[4];
    result.split(i, o);
    const int64_t group = o[1] / taps.c, c = o[1] % taps.c;
    double total = shift.data ? shift.get(o[1] * bias_step) : 0;
    for (int64_t source = group * outs_per_group; source < (group + 1) * outs_per_group; ++source) {
      for (int64_t kh = 0; kh < taps.h; ++kh) {
        const int64_t h = o[2] + p.padding_h - kh * p.dilation_h;
        if (h < 0 || h % p.stride_h || h / p.stride_h >= in.h) continue;
        for (int64_t kw = 0; kw < taps.w; ++kw) {
          const int64_t w = o[3] + p.padding_w - kw * p.dilation_w;
          if (w < 0 || w % p.stride_w || w / p.stride_w >= in.w) continue;
          total += from.get(from_at(o[0], source, h / p.stride_h, w / p.stride_w)) *
                   kernel.get(kernel_at(source, c, kh, kw));
        }
      }
    }
    target.set(i, total);
  });
}

template <typename View>
void run_weight_grad(const Tensor& x, const Tensor& grad, const Conv2dParams& p, const Tensor& out) {
  const View image(x), slope(grad), target(out);
  const Strides4 image_at = strides4(x), slope_at = strides4(grad);
  const Sizes4 in = sizes4(x), taps = sizes4(out), result = sizes4(grad);
  const int64_t outs_per_group = taps.n / p.groups;
  for_each_index(out.device(), "conv2d_weight_grad", out.numel(), [=] __device__(int64_t i) {
    int64_t k[4];
    taps.split(i, k);
    const int64_t channel = k[0] / outs_per_group * taps.c + k[1];
    double total = 0;
    for (int64_t n = 0; n < result.n; ++n) {
      for (int64_t oh = 0; oh < result.h; ++oh) {
        const int64_t h = oh * p.stride_h + k[2] * p.dilation_h - p.padding_h;
        if (h < 0 || h >= in.h) continue;
        for (int64_t ow = 0; ow < result.w; ++ow) {
          const int64_t w = ow * p.stride_w + k[3] * p.dilation_w - p.padding_w;
          if (w < 0 || w >= in.w) continue;
          total += image.get(image_at(n, channel, h, w)) * slope.get(slope_at(n, k[0], oh, ow));
        }
      }
    }
    target.set(i, total);
  });
}

}  // namespace

void conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params, const Tensor& out) {
  visit_views({&out, &x, &weight, &bias},
              [&](auto view) { run_conv<typename decltype(view)::type>(x, weight, bias, params, out); });
}

void conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                      const Tensor& out) {
  visit_views({&out, &x, &weight, &bias},
              [&](auto view) { run_transposed<typename decltype(view)::type>(x, weight, bias, params, out); });
}

void conv2d_weight_grad(const Tensor& x, const Tensor& grad, const Conv2dParams& params, const Tensor& out) {
  visit_views({&out, &x, &grad},
              [&](auto view) { run_weight_grad<typename decltype(view)::type>(x, grad, params, out); });
}

}  // namespace wick::cuda
