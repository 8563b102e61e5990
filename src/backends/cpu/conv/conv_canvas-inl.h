// Planes that products are added up in, the other way round from reading windows. Included once per target.
#if defined(WICK_BACKENDS_CPU_CONV_CANVAS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_CONV_CANVAS_INL_H
#undef WICK_BACKENDS_CPU_CONV_CANVAS_INL_H
#else
#define WICK_BACKENDS_CPU_CONV_CANVAS_INL_H
#endif

#include "backends/cpu/conv/conv_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// The layout of one plane of `out` (channel_stride elements) with its columns sorted by phase; `data` stays null.
template <typename T>
ConvImage<T> CanvasLayout(const Tensor& out, int64_t stride_w) {
  ConvImage<T> canvas;
  canvas.height = out.dim(2);
  canvas.width = out.dim(3);
  const int64_t phases = std::min(stride_w, out.dim(3));
  canvas.phase_stride = ceil_div(out.dim(3), phases);
  canvas.row_stride = phases * canvas.phase_stride;
  canvas.channel_stride = canvas.row_stride * out.dim(2);
  return canvas;
}

// plane += scale * values, each where its tap reads: values[tap * stride + pixel], pixels [first, first + count).
template <typename T>
void AddTaps(const ConvImage<T>& canvas, const ConvGeometry& g, const T* values, int64_t stride, T scale, int64_t first,
             int64_t count, T* plane) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  for (int64_t tap = 0; tap < g.taps(); ++tap, values += stride) {
    const auto add = [&](int64_t at, int64_t place, int64_t length) HWY_ATTR {
      T* HWY_RESTRICT to = plane + place;
      const T* HWY_RESTRICT from = values + at;
      const auto factor = hn::Set(d, scale);
      int64_t i = 0;
      for (; i + lanes <= length; i += lanes) {
        hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::Mul(factor, hn::LoadU(d, from + i))), d, to + i);
      }
      for (; i < length; ++i) to[i] += scale * from[i];
    };
    ForEachRun(canvas, g, tap / g.kernel_w, tap % g.kernel_w, first, count, add);
  }
}

// Writes a plane to elements [at, ...) of `out`, its columns back in order.
template <typename T>
void StoreCanvas(const ConvImage<T>& canvas, const T* plane, const Tensor& out, int64_t at) {
  const int64_t phases = canvas.row_stride / canvas.phase_stride;
  thread_local cpu::Scratch row_memory;
  for (int64_t h = 0; h < canvas.height; ++h, plane += canvas.row_stride, at += canvas.width) {
    if (phases == 1) {
      StoreRow(plane, canvas.width, out, at);
      continue;
    }
    T* row = row_memory.get<T>(canvas.width);
    const hn::ScalableTag<T> d;
    const int64_t lanes = hn::Lanes(d);
    int64_t done = 0;
    for (; phases == 2 && 2 * (done + lanes) <= canvas.width; done += lanes) {
      hn::StoreInterleaved2(hn::LoadU(d, plane + done), hn::LoadU(d, plane + canvas.phase_stride + done), d,
                            row + 2 * done);
    }
    for (int64_t phase = 0; phase < phases; ++phase) {
      const T* from = plane + phase * canvas.phase_stride + done;
      for (int64_t w = done * phases + phase; w < canvas.width; w += phases) row[w] = *from++;
    }
    StoreRow(row, canvas.width, out, at);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
