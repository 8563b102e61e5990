// The image a convolution reads, in the type it computes in. Included once per target.
#if defined(WICK_BACKENDS_CPU_CONV_IMAGE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_CONV_IMAGE_INL_H
#undef WICK_BACKENDS_CPU_CONV_IMAGE_INL_H
#else
#define WICK_BACKENDS_CPU_CONV_IMAGE_INL_H
#endif

#include <algorithm>

#include "backends/cpu/load-inl.h"
#include "backends/cpu/scratch.h"
#include "base/checked.h"
#include "base/thread_pool.h"
#include "ops/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// [batch, channels, height, width]. When windows step over `phases` columns at a time, the columns are sorted by phase
// so that neighbouring windows read neighbouring elements: column i is at (i % phases) * phase_stride + i / phases.
template <typename T>
struct ConvImage {
  const T* data = nullptr;
  int64_t height = 0, width = 0;
  int64_t batch_stride = 0, channel_stride = 0, row_stride = 0, phase_stride = 0;

  const T* plane(int64_t batch, int64_t channel) const {
    return data + batch * batch_stride + channel * channel_stride;
  }
};

// visit_dtype for the float types only.
template <typename Body>
void VisitFloat(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF64: return body(double{});
    case DType::kF16: return body(Half{});
    case DType::kBF16: return body(BFloat16{});
    default: return body(float{});
  }
}

template <typename T, typename From>
void StageRow(const From* from, int64_t step, int64_t width, int64_t phases, int64_t phase_stride, T* to) {
  if constexpr (std::is_same_v<T, float> && !std::is_same_v<From, double>) {
    if (step == 1 && phases == 1) {
      const hn::ScalableTag<float> d;
      const int64_t lanes = hn::Lanes(d);
      int64_t i = 0;
      for (; i + lanes <= width; i += lanes) hn::StoreU(LoadAs(d, from + i), d, to + i);
      if (i < width) StoreAsN(LoadAsN(d, from + i, width - i), d, to + i, width - i);
      return;
    }
  }
  int64_t done = 0;  // whole groups of phases already copied
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float> && !std::is_same_v<From, double>) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = hn::Lanes(d);
    for (; step == 1 && phases == 2 && 2 * (done + lanes) <= width; done += lanes) {
      const auto low = LoadAs(d, from + 2 * done), high = LoadAs(d, from + 2 * done + lanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, to + done);
      hn::StoreU(hn::ConcatOdd(d, high, low), d, to + phase_stride + done);
    }
  }
#endif
  for (int64_t phase = 0; phase < std::min(phases, width); ++phase) {
    T* HWY_RESTRICT row = to + phase * phase_stride;
    for (int64_t n = done, i = done * phases + phase; i < width; i += phases, ++n) row[n] = convert<T>(from[i * step]);
  }
}

// x [batch, channels, height, width] copied as T to `scratch`, which must outlive the image.
template <typename T>
ConvImage<T> CopyImage(const Tensor& x, int64_t phases, cpu::Scratch& scratch) {
  ConvImage<T> image;
  image.height = x.dim(2);
  image.width = x.dim(3);
  phases = std::min(phases, std::max<int64_t>(1, x.dim(3)));
  image.phase_stride = ceil_div(x.dim(3), phases);
  image.row_stride = phases * image.phase_stride;
  image.channel_stride = image.row_stride * x.dim(2);
  image.batch_stride = image.channel_stride * x.dim(1);
  T* to = scratch.get<T>(image.batch_stride * x.dim(0));
  image.data = to;
  const Strides& strides = x.strides();
  const int64_t rows = x.dim(0) * x.dim(1) * x.dim(2);
  VisitFloat(x.dtype(), [&](auto zero) {
    const auto* from = reinterpret_cast<const decltype(zero)*>(x.raw());
    parallel_for(rows, ceil_div(16384, x.dim(3) + 1), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t h = r % x.dim(2), c = r / x.dim(2) % x.dim(1), b = r / x.dim(2) / x.dim(1);
        StageRow<T>(from + b * strides[0] + c * strides[1] + h * strides[2], strides[3], x.dim(3), phases,
                    image.phase_stride, to + r * image.row_stride);
      }
    });
  });
  return image;
}

// As CopyImage, but in place when x's rows already lie as wanted.
template <typename T>
ConvImage<T> StageImage(const Tensor& x, int64_t phases, cpu::Scratch& scratch) {
  const Strides& strides = x.strides();
  if (x.dtype() != dtype_of<T>() || phases > 1 || (strides[3] != 1 && x.dim(3) > 1)) {
    return CopyImage<T>(x, phases, scratch);
  }
  return {reinterpret_cast<const T*>(x.raw()), x.dim(2), x.dim(3), strides[0], strides[1], strides[2], 0};
}

// A tensor as contiguous T, in place when it is already.
template <typename T>
const T* StageContiguous(const Tensor& x, cpu::Scratch& scratch) {
  if (!x.defined()) return nullptr;
  if (x.dtype() == dtype_of<T>() && x.is_contiguous()) return reinterpret_cast<const T*>(x.raw());
  Layout layout = x.layout();
  while (layout.shape.rank() < 4) layout = layout.unsqueeze(0);
  return CopyImage<T>(x.with_layout(layout), 1, scratch).data;
}

template <typename T, typename To>
void NarrowRow(const T* from, int64_t count, To* to) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float> && !std::is_same_v<To, double>) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = hn::Lanes(d);
    for (; i + lanes <= count; i += lanes) StoreAs(hn::LoadU(d, from + i), d, to + i);
  }
  for (; i < count; ++i) to[i] = convert<To>(from[i]);
}

// Elements [at, at + count) of the row-major float tensor `out`, from T.
template <typename T>
void StoreRow(const T* from, int64_t count, const Tensor& out, int64_t at) {
  VisitFloat(out.dtype(),
             [&](auto zero) { NarrowRow(from, count, reinterpret_cast<decltype(zero)*>(out.raw()) + at); });
}

// Lets compute(T*) write elements [at, at + count) of `out`: in place, or in `scratch` when out's dtype is not T.
template <typename T, typename Compute>
void WriteRow(const Tensor& out, int64_t at, int64_t count, cpu::Scratch& scratch, const Compute& compute) {
  if (out.dtype() == dtype_of<T>()) return compute(reinterpret_cast<T*>(out.raw()) + at);
  T* row = scratch.get<T>(count);
  compute(row);
  StoreRow(row, count, out, at);
}

// The type a kernel computes in is f64 when any tensor is f64, else f32.
template <typename... Tensors>
bool ComputesInF64(const Tensors&... tensors) {
  return ((tensors.dtype() == DType::kF64) || ...);
}

// Which output columns the tap at `offset` columns from the window's start reads inside the image, and where: output
// column o in [begin, end) reads element `start + o` of the row.
struct ConvColumns {
  int64_t begin, end, start;
};

template <typename T>
ConvColumns TapColumns(const ConvImage<T>& image, int64_t stride, int64_t offset, int64_t out_width) {
  const int64_t step = offset >= 0 ? offset / stride : -ceil_div(-offset, stride);  // rounds down
  const int64_t phase = offset - step * stride;
  ConvColumns columns;
  columns.begin = std::max<int64_t>(0, -step);
  columns.end = image.width > phase ? std::min(out_width, ceil_div(image.width - phase, stride) - step) : 0;
  columns.end = std::max(columns.end, columns.begin);
  columns.start = phase * image.phase_stride + step;
  return columns;
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
