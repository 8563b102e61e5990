#include <limits>

#include "backends/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/pool2d.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/conv/conv_canvas-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// Windows without padding, as the convolutions see them.
ConvGeometry PoolGeometry(const Pool2dParams& p, int64_t out_h, int64_t out_w) {
  return {{.stride_h = p.stride_h, .stride_w = p.stride_w}, p.kernel_h, p.kernel_w, out_h, out_w};
}

// Where each kernel column of output column 0 lies in a row.
template <typename T>
const int64_t* ColumnStarts(const ConvImage<T>& image, const ConvGeometry& g, cpu::Scratch& scratch) {
  auto* starts = scratch.get<int64_t>(g.kernel_w);
  for (int64_t kw = 0; kw < g.kernel_w; ++kw) starts[kw] = TapColumns(image, g.params.stride_w, kw, g.out_w).start;
  return starts;
}

// Calls body(plane, output row, scratch) for every output row of every plane, on all threads.
template <typename Body>
void ForEachOutputRow(const ConvGeometry& g, int64_t planes, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, 16384 / (g.out_w * g.taps() + 1));
  parallel_for(planes * g.out_h, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) body(r / g.out_h, r % g.out_h);
  });
}

template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadSome(D d, const T* from, int64_t count) {
  return count == static_cast<int64_t>(hn::Lanes(d)) ? hn::LoadU(d, from) : LoadAsN(d, from, count);
}

// window: the image row of the first kernel row; taps add up in row-major order.
template <typename T>
void MeanRow(const ConvImage<T>& image, const ConvGeometry& g, const int64_t* starts, const T* window,
             T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  const auto count = hn::Set(d, static_cast<T>(g.taps()));
  for (int64_t ow = 0; ow < g.out_w; ow += lanes) {
    const int64_t n = std::min(lanes, g.out_w - ow);
    auto sum = hn::Zero(d);
    for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
      const T* row = window + kh * image.row_stride + ow;
      for (int64_t kw = 0; kw < g.kernel_w; ++kw) sum = hn::Add(sum, LoadSome(d, row + starts[kw], n));
    }
    sum = hn::Div(sum, count);
    if (n == lanes) {
      hn::StoreU(sum, d, to + ow);
    } else {
      StoreAsN(sum, d, to + ow, n);
    }
  }
}

// As MeanRow for the maximum; `taps` gets the number kh * kernel_w + kw of the first tap that holds it.
template <typename T, typename Tap>
void MaxRow(const ConvImage<T>& image, const ConvGeometry& g, const int64_t* starts, const T* window,
            T* HWY_RESTRICT to, Tap* HWY_RESTRICT taps) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<Tap, decltype(d)> di;
  const int64_t lanes = hn::Lanes(d);
  for (int64_t ow = 0; ow < g.out_w; ow += lanes) {
    const int64_t n = std::min(lanes, g.out_w - ow);
    auto best = LoadSome(d, window + ow + starts[0], n);
    auto place = hn::Zero(di);
    Tap tap = 0;
    for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
      const T* row = window + kh * image.row_stride + ow;
      for (int64_t kw = 0; kw < g.kernel_w; ++kw, ++tap) {
        const auto v = LoadSome(d, row + starts[kw], n);
        // Larger, or the first NaN.
        const auto better = hn::Or(hn::Gt(v, best), hn::AndNot(hn::IsNaN(best), hn::IsNaN(v)));
        best = hn::IfThenElse(better, v, best);
        place = hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, tap), place);
      }
    }
    if (n == lanes) {
      hn::StoreU(best, d, to + ow);
    } else {
      StoreAsN(best, d, to + ow, n);
    }
    hn::StoreU(place, di, taps + ow);
  }
}

template <typename T>
void AvgPoolAs(const Tensor& x, const Pool2dParams& params, const Tensor& out) {
  thread_local cpu::Scratch image_memory, start_memory;
  const ConvGeometry g = PoolGeometry(params, out.dim(2), out.dim(3));
  const ConvImage<T> image = StageImage<T>(x, params.stride_w, image_memory);
  const int64_t* starts = ColumnStarts(image, g, start_memory);
  ForEachOutputRow(g, out.dim(0) * out.dim(1), [&](int64_t plane, int64_t oh) {
    thread_local cpu::Scratch row_memory;
    const T* window = image.plane(plane / x.dim(1), plane % x.dim(1)) + oh * params.stride_h * image.row_stride;
    WriteRow<T>(out, (plane * g.out_h + oh) * g.out_w, g.out_w, row_memory,
                [&](T* to) { MeanRow(image, g, starts, window, to); });
  });
}

template <typename T>
void MaxPoolAs(const Tensor& x, const Pool2dParams& params, const Tensor& out, const Tensor& indices) {
  using Tap = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  thread_local cpu::Scratch image_memory, start_memory, offset_memory;
  const ConvGeometry g = PoolGeometry(params, out.dim(2), out.dim(3));
  const ConvImage<T> image = StageImage<T>(x, params.stride_w, image_memory);
  const int64_t* starts = ColumnStarts(image, g, start_memory);
  auto* places = reinterpret_cast<int64_t*>(indices.raw());
  auto* offsets = offset_memory.get<int64_t>(g.taps());
  for (int64_t tap = 0; tap < g.taps(); ++tap) offsets[tap] = tap / g.kernel_w * image.width + tap % g.kernel_w;
  ForEachOutputRow(g, out.dim(0) * out.dim(1), [&](int64_t plane, int64_t oh) {
    thread_local cpu::Scratch row_memory, tap_memory;
    Tap* taps = tap_memory.get<Tap>(g.out_w + hn::Lanes(hn::ScalableTag<T>()));
    const T* window = image.plane(plane / x.dim(1), plane % x.dim(1)) + oh * params.stride_h * image.row_stride;
    const int64_t at = (plane * g.out_h + oh) * g.out_w;
    WriteRow<T>(out, at, g.out_w, row_memory, [&](T* to) { MaxRow(image, g, starts, window, to, taps); });
    const int64_t start = oh * params.stride_h * image.width;
    for (int64_t ow = 0; ow < g.out_w; ++ow) places[at + ow] = start + ow * params.stride_w + offsets[taps[ow]];
  });
}

template <typename T>
void AvgPoolGradAs(const Tensor& grad, const Pool2dParams& params, const Tensor& out) {
  thread_local cpu::Scratch grad_memory;
  const ConvGeometry g = PoolGeometry(params, grad.dim(2), grad.dim(3));
  const T* slopes = StageContiguous<T>(grad, grad_memory);
  const ConvImage<T> canvas = CanvasLayout<T>(out, params.stride_w);
  parallel_for(out.dim(0) * out.dim(1), 1, [&](int64_t begin, int64_t end) {
    thread_local cpu::Scratch canvas_memory;
    T* plane = canvas_memory.get<T>(canvas.channel_stride);
    for (int64_t p = begin; p < end; ++p) {
      std::fill_n(plane, canvas.channel_stride, T{0});
      AddTaps(canvas, g, slopes + p * g.pixels(), 0, T{1} / static_cast<T>(g.taps()), 0, g.pixels(), plane);
      StoreCanvas(canvas, plane, out, p * canvas.height * canvas.width);
    }
  });
}

}  // namespace

void AvgPool(const Tensor& x, const Pool2dParams& params, const Tensor& out) {
  x.dtype() == DType::kF64 ? AvgPoolAs<double>(x, params, out) : AvgPoolAs<float>(x, params, out);
}

void AvgPoolGrad(const Tensor& grad, const Pool2dParams& params, const Tensor& out) {
  ComputesInF64(grad, out) ? AvgPoolGradAs<double>(grad, params, out) : AvgPoolGradAs<float>(grad, params, out);
}

void MaxPool(const Tensor& x, const Pool2dParams& params, const Tensor& out, const Tensor& indices) {
  // Taps are counted in integers as wide as the values.
  const bool wide = params.kernel_h * params.kernel_w > std::numeric_limits<int32_t>::max();
  if (ComputesInF64(x) || wide) {
    MaxPoolAs<double>(x, params, out, indices);
  } else {
    MaxPoolAs<float>(x, params, out, indices);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(AvgPool);
HWY_EXPORT(AvgPoolGrad);
HWY_EXPORT(MaxPool);
namespace cpu {

void avg_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out) {
  if (out.numel() > 0) HWY_DYNAMIC_DISPATCH(AvgPool)(x, params, out);
}
void avg_pool2d_grad(const Tensor& grad, const Pool2dParams& params, const Tensor& out) {
  if (out.numel() > 0) HWY_DYNAMIC_DISPATCH(AvgPoolGrad)(grad, params, out);
}
void max_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out, const Tensor& indices) {
  if (out.numel() > 0) HWY_DYNAMIC_DISPATCH(MaxPool)(x, params, out, indices);
}

}  // namespace cpu
}  // namespace wick
#endif
