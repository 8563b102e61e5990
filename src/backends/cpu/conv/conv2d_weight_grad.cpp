#include "backends/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/conv2d_weight_grad.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/conv/conv_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// Pixels summed at a time, in panels of kConvVectors vectors, and gradient rows per register tile.
constexpr int64_t kPanels = 8;
constexpr int kRows = 4;
constexpr int kTaps = HWY_TARGET <= HWY_AVX3 ? 6 : 2;
constexpr int64_t kTapsPerTask = 24;

template <typename T>
struct WeightGradJob {
  ConvGeometry geometry;
  ConvImage<T> image;
  ConvImage<T> grad;  // rows of out_w pixels
  int64_t batch, groups, group_in, group_out;
  const Tensor* out;
};

// sums[tap][lane] += row[pixel] * panel[tap][pixel] over `vectors` vectors of pixels, for kR rows and kT taps.
template <int kR, int kT, typename T>
HWY_NOINLINE void DotTile(const T* HWY_RESTRICT rows, int64_t row_stride, const T* HWY_RESTRICT panel,
                          int64_t panel_stride, int64_t vectors, T* HWY_RESTRICT sums, int64_t sums_stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = hn::Lanes(d);
  V sum[kR][kT];
  for (int r = 0; r < kR; ++r) {
    for (int t = 0; t < kT; ++t) sum[r][t] = hn::Load(d, sums + r * sums_stride + t * lanes);
  }
  for (int64_t v = 0; v < vectors; ++v) {
    V a[kR];
    for (int r = 0; r < kR; ++r) a[r] = hn::Load(d, rows + r * row_stride + v * lanes);
    for (int t = 0; t < kT; ++t) {
      const V b = hn::Load(d, panel + t * panel_stride + v * lanes);
      for (int r = 0; r < kR; ++r) sum[r][t] = hn::MulAdd(a[r], b, sum[r][t]);
    }
  }
  for (int r = 0; r < kR; ++r) {
    for (int t = 0; t < kT; ++t) hn::Store(sum[r][t], d, sums + r * sums_stride + t * lanes);
  }
}

template <int kR, typename T>
void DotRows(const T* rows, const T* panel, int64_t stride, int64_t vectors, int64_t taps, T* sums,
             int64_t sums_stride) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  int64_t t = 0;
  for (; t + kTaps <= taps; t += kTaps) {
    DotTile<kR, kTaps>(rows, stride, panel + t * stride, stride, vectors, sums + t * lanes, sums_stride);
  }
  for (; t < taps; ++t) {
    DotTile<kR, 1>(rows, stride, panel + t * stride, stride, vectors, sums + t * lanes, sums_stride);
  }
}

// The gradient by `channels` input channels from `channel` on of one group, for all its output channels. Pixels add up
// in a fixed order in each lane, and the lanes at the end.
template <typename T>
void WeightGradBlock(const WeightGradJob<T>& job, int64_t group, int64_t channel, int64_t channels) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d), width = kConvVectors * lanes, stride = kPanels * width;
  const int64_t taps = channels * job.geometry.taps(), pixels = job.geometry.pixels(), outs = job.group_out;
  const ConvGeometry pointwise{{}, 1, 1, job.geometry.out_h, job.geometry.out_w};
  thread_local cpu::Scratch panel_memory, row_memory, sum_memory;
  T* panel = panel_memory.get<T>(taps * stride);
  T* rows = row_memory.get<T>(kRows * stride);
  T* sums = sum_memory.get<T>(outs * taps * lanes);  // [out][tap][lane]
  std::fill_n(sums, outs * taps * lanes, T{0});
  for (int64_t b = 0; b < job.batch; ++b) {
    for (int64_t p = 0; p < pixels; p += stride) {
      const int64_t count = std::min(stride, pixels - p), vectors = ceil_div(count, lanes);
      for (int64_t at = 0; at < count; at += width) {
        PackPanel(job.image, job.geometry, job.image.plane(b, group * job.group_in + channel), channels, p + at,
                  std::min(width, count - at), panel + at, stride);
      }
      for (int64_t o = 0; o < outs; o += kRows) {
        const int64_t height = std::min<int64_t>(kRows, outs - o);
        for (int64_t at = 0; at < count; at += width) {
          PackPanel(job.grad, pointwise, job.grad.plane(b, group * outs + o), height, p + at,
                    std::min(width, count - at), rows + at, stride);
        }
        T* to = sums + o * taps * lanes;
        if (height == kRows) {
          DotRows<kRows>(rows, panel, stride, vectors, taps, to, taps * lanes);
        } else {
          for (int64_t r = 0; r < height; ++r) {
            DotRows<1>(rows + r * stride, panel, stride, vectors, taps, to + r * taps * lanes, taps * lanes);
          }
        }
      }
    }
  }
  for (int64_t o = 0; o < outs; ++o) {
    T* row = sums + o * taps * lanes;
    for (int64_t t = 0; t < taps; ++t) {  // in place: element t lies before the lanes still to be read
      T total = row[t * lanes];
      for (int64_t lane = 1; lane < lanes; ++lane) total += row[t * lanes + lane];
      row[t] = total;
    }
    const int64_t at = ((group * outs + o) * job.group_in + channel) * job.geometry.taps();
    StoreRow(row, taps, *job.out, at);
  }
}

template <typename T>
void WeightGradAs(const Tensor& x, const Tensor& grad, const Conv2dParams& params, const Tensor& out) {
  thread_local cpu::Scratch image_memory, grad_memory;
  WeightGradJob<T> job;
  job.geometry = {params, out.dim(2), out.dim(3), grad.dim(2), grad.dim(3)};
  job.image = StageImage<T>(x, params.stride_w, image_memory);
  job.grad = StageImage<T>(grad, 1, grad_memory);
  job.batch = x.dim(0);
  job.groups = params.groups;
  job.group_in = out.dim(1);
  job.group_out = out.dim(0) / params.groups;
  job.out = &out;
  const int64_t channels = std::max<int64_t>(1, kTapsPerTask / job.geometry.taps());
  const int64_t blocks = ceil_div(job.group_in, channels);
  parallel_for(job.groups * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t channel = task % blocks * channels;
      WeightGradBlock(job, task / blocks, channel, std::min(channels, job.group_in - channel));
    }
  });
}

}  // namespace

void WeightGrad(const Tensor& x, const Tensor& grad, const Conv2dParams& params, const Tensor& out) {
  if (ComputesInF64(x, grad, out)) {
    WeightGradAs<double>(x, grad, params, out);
  } else {
    WeightGradAs<float>(x, grad, params, out);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(WeightGrad);
namespace cpu {

void conv2d_weight_grad(const Tensor& x, const Tensor& grad, const Conv2dParams& params, const Tensor& out) {
  if (out.numel() > 0) HWY_DYNAMIC_DISPATCH(WeightGrad)(x, grad, params, out);
}

}  // namespace cpu
}  // namespace wick
#endif
