#include "backends/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/conv_transpose2d.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/conv/conv_canvas-inl.h"
#include "backends/cpu/conv/conv_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// Input channels multiplied at a time; fixed, so that the order of the sums is too.
constexpr int64_t kDepth = 128;
constexpr int64_t kRowsPerTask = 64;  // rows (output channel, tap) of the product

template <typename T>
struct TransposeJob {
  ConvGeometry geometry;  // of the convolution that is transposed: its image is `out`, its output x
  ConvImage<T> x;
  const T* weight;  // [groups, group_in, group_out, taps]
  const T* bias;    // [groups, group_out] or null
  int64_t groups, group_in, group_out;
  ConvImage<T> canvas;  // where the products of one output channel are added up
  const Tensor* out;
};

// Output channels [channel, channel + channels) of one group of one image: multiplies panel by panel of x's pixels,
// then adds each product where its tap lands.
template <typename T>
void TransposeBlock(const TransposeJob<T>& job, int64_t batch, int64_t group, int64_t channel, int64_t channels) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>()), width = kConvVectors * lanes;
  const int64_t taps = job.geometry.taps(), pixels = job.geometry.pixels(), rows = channels * taps;
  const int64_t depth_stride = job.group_out * taps;
  const T* weight = job.weight + group * job.group_in * depth_stride + channel * taps;
  thread_local cpu::Scratch panel_memory, product_memory, canvas_memory;
  T* panel = panel_memory.get<T>(kDepth * width);
  T* products = product_memory.get<T>(rows * width);
  T* canvas = canvas_memory.get<T>(channels * job.canvas.channel_stride);
  for (int64_t c = 0; c < channels; ++c) {
    const T start = job.bias ? job.bias[group * job.group_out + channel + c] : T{0};
    std::fill_n(canvas + c * job.canvas.channel_stride, job.canvas.channel_stride, start);
  }
  const ConvGeometry pointwise{{}, 1, 1, job.geometry.out_h, job.geometry.out_w};
  for (int64_t p = 0; p < pixels && job.group_in > 0; p += width) {
    const int64_t tile = std::min(width, pixels - p);
    for (int64_t k = 0; k < job.group_in; k += kDepth) {
      const int64_t depth = std::min(kDepth, job.group_in - k);
      PackPanel(job.x, pointwise, job.x.plane(batch, group * job.group_in + k), depth, p, tile, panel, width);
      const GemmWeights<T> weights{weight + k * depth_stride, 1, depth_stride};
      GemmPanel(weights, rows, panel, width, depth, ceil_div(tile, lanes),
                GemmOut<T>{products, width, nullptr, k == 0});
    }
    for (int64_t c = 0; c < channels; ++c) {
      AddTaps(job.canvas, job.geometry, products + c * taps * width, width, T{1}, p, tile,
              canvas + c * job.canvas.channel_stride);
    }
  }
  const int64_t plane = (batch * job.groups + group) * job.group_out + channel;
  for (int64_t c = 0; c < channels; ++c) {
    StoreCanvas(job.canvas, canvas + c * job.canvas.channel_stride, *job.out,
                (plane + c) * job.canvas.height * job.canvas.width);
  }
}

template <typename T>
void ConvTransposeAs(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                     const Tensor& out) {
  thread_local cpu::Scratch x_memory, weight_memory, bias_memory;
  TransposeJob<T> job;
  job.geometry = {params, weight.dim(2), weight.dim(3), x.dim(2), x.dim(3)};
  job.x = StageImage<T>(x, 1, x_memory);
  job.weight = StageContiguous<T>(weight, weight_memory);
  job.bias = StageContiguous<T>(bias, bias_memory);
  job.groups = params.groups;
  job.group_in = weight.dim(0) / params.groups;
  job.group_out = weight.dim(1);
  job.out = &out;
  job.canvas = CanvasLayout<T>(out, params.stride_w);
  const int64_t channels = std::max<int64_t>(1, kRowsPerTask / job.geometry.taps());
  const int64_t blocks = ceil_div(job.group_out, channels), images = out.dim(0) * job.groups;
  parallel_for(images * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t channel = task % blocks * channels, image = task / blocks;
      TransposeBlock(job, image / job.groups, image % job.groups, channel, std::min(channels, job.group_out - channel));
    }
  });
}

}  // namespace

void ConvTranspose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                     const Tensor& out) {
  if (ComputesInF64(x, weight, out)) {
    ConvTransposeAs<double>(x, weight, bias, params, out);
  } else {
    ConvTransposeAs<float>(x, weight, bias, params, out);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(ConvTranspose2d);
namespace cpu {

void conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                      const Tensor& out) {
  if (out.numel() > 0) HWY_DYNAMIC_DISPATCH(ConvTranspose2d)(x, weight, bias, params, out);
}

}  // namespace cpu
}  // namespace wick
#endif
