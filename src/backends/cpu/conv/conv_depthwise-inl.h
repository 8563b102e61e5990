// Convolution of each channel on its own: no sums over channels, so no panels. Included once per target.
#if defined(WICK_BACKENDS_CPU_CONV_DEPTHWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_CONV_DEPTHWISE_INL_H
#undef WICK_BACKENDS_CPU_CONV_DEPTHWISE_INL_H
#else
#define WICK_BACKENDS_CPU_CONV_DEPTHWISE_INL_H
#endif

#include <vector>

#include "backends/cpu/conv/conv_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// The rows of a plane with the padding written out: one line per phase, long enough that any tap of any output column,
// rounded up to whole blocks, is inside.
struct DepthwiseRows {
  int64_t first_step = 0, line = 0, row = 0;  // columns before the image, length of a line, of all phases of a row
  std::vector<int64_t> starts;                // per kernel column: where output column 0 reads

  // A window far larger than the image does not fit; the general kernel takes it.
  bool fits(int64_t width, int64_t out_width) const { return row <= 4 * (width + out_width) + 1024; }
};

inline constexpr int64_t kDepthwiseVectors = 4;  // output vectors computed together

template <typename T>
DepthwiseRows PlanDepthwise(const ConvGeometry& g) {
  const int64_t stride = g.params.stride_w, block = kDepthwiseVectors * hn::Lanes(hn::ScalableTag<T>());
  DepthwiseRows rows;
  const int64_t last_offset = (g.kernel_w - 1) * g.params.dilation_w - g.params.padding_w;
  rows.first_step = -ceil_div(g.params.padding_w, stride);
  rows.line = std::max<int64_t>(0, last_offset / stride) - rows.first_step + round_up(g.out_w, block);
  rows.row = rows.line * std::min(stride, g.kernel_w * g.params.dilation_w);
  for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
    const int64_t offset = kw * g.params.dilation_w - g.params.padding_w - rows.first_step * stride;
    rows.starts.push_back(offset % stride * rows.line + offset / stride);
  }
  return rows;
}

// Image row as lines; the columns left and right of the image are zero.
template <typename T>
void PadRow(const ConvImage<T>& image, const DepthwiseRows& rows, int64_t stride, const T* from, T* to) {
  for (int64_t phase = 0; phase * rows.line < rows.row; ++phase, to += rows.line) {
    const int64_t columns = image.width > phase ? ceil_div(image.width - phase, stride) : 0;
    const int64_t left = std::min(rows.line, -rows.first_step), copied = std::min(columns, rows.line - left);
    std::fill_n(to, left, T{0});
    std::copy_n(from + phase * image.phase_stride, copied, to + left);
    std::fill_n(to + left + copied, rows.line - left - copied, T{0});
  }
}

// One block of output columns, kVectors vectors, summed over the taps of the window rows that lie in the image.
template <int kVectors, typename T>
HWY_INLINE void DepthwiseBlock(const DepthwiseRows& rows, const T* HWY_RESTRICT lines, int64_t line_step,
                               const T* HWY_RESTRICT weight, int64_t window_rows, int64_t kernel_w, T bias,
                               T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Set(d, bias);
  const int64_t* HWY_RESTRICT starts = rows.starts.data();
  for (int64_t kh = 0; kh < window_rows; ++kh, lines += line_step) {
    for (int64_t kw = 0; kw < kernel_w; ++kw) {
      const T* from = lines + starts[kw];
      const auto w = hn::Set(d, *weight++);
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(w, hn::LoadU(d, from + v * lanes), sum[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, to + v * lanes);
}

// Output rows [begin, end) of one output channel; `lines` holds image rows from `first_row` on, padded. `scratch` has
// room for a row of whole blocks.
template <typename T>
void DepthwisePlane(const ConvGeometry& g, const ConvImage<T>& image, const DepthwiseRows& rows, const T* lines,
                    int64_t first_row, const T* weight, T bias, int64_t begin, int64_t end, const Tensor& out,
                    int64_t at, T* scratch) {
  const Conv2dParams& p = g.params;
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>()), whole = round_up(g.out_w, lanes);
  for (int64_t oh = begin; oh < end; ++oh) {
    const int64_t top = oh * p.stride_h - p.padding_h;
    const int64_t skipped = top < 0 ? std::min(g.kernel_h, ceil_div(-top, p.dilation_h)) : 0;
    const int64_t inside = image.height > top ? ceil_div(image.height - top, p.dilation_h) : 0;
    const int64_t window_rows = std::max<int64_t>(0, std::min(g.kernel_h, inside) - skipped);
    const T* window = window_rows > 0 ? lines + (top + skipped * p.dilation_h - first_row) * rows.row : lines;
    // Writing past the row's end is harmless while a later row of this call overwrites it.
    const bool in_place = out.dtype() == dtype_of<T>() && (oh + 1) * g.out_w + (whole - g.out_w) <= end * g.out_w;
    T* to = in_place ? reinterpret_cast<T*>(out.raw()) + at + oh * g.out_w : scratch;
    const T* taps = weight + skipped * g.kernel_w;
    const int64_t step = p.dilation_h * rows.row;
    int64_t ow = 0;
    for (; ow + kDepthwiseVectors * lanes <= whole; ow += kDepthwiseVectors * lanes) {
      DepthwiseBlock<kDepthwiseVectors>(rows, window + ow, step, taps, window_rows, g.kernel_w, bias, to + ow);
    }
    for (; ow < whole; ow += lanes) {
      DepthwiseBlock<1>(rows, window + ow, step, taps, window_rows, g.kernel_w, bias, to + ow);
    }
    if (!in_place) StoreRow(scratch, g.out_w, out, at + oh * g.out_w);
  }
}

// Output channel o reads input channel o / multiplier; weight is [outs, 1, kh, kw].
template <typename T>
void ConvDepthwise(const ConvGeometry& g, const ConvImage<T>& image, const DepthwiseRows& rows, const T* weight,
                   const T* bias, int64_t multiplier, const Tensor& out) {
  const Conv2dParams& p = g.params;
  const int64_t outs = out.dim(1), planes = out.dim(0) * (outs / multiplier);
  const int64_t band = std::clamp<int64_t>(16384 / g.out_w, 8, std::max<int64_t>(8, g.out_h));  // output rows per task
  const int64_t bands = ceil_div(g.out_h, band);
  parallel_for(planes * bands, 1, [&](int64_t task_begin, int64_t task_end) {
    thread_local cpu::Scratch line_memory, row_memory;
    T* scratch = row_memory.get<T>(rows.line + 64);
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t plane = task / bands, batch = plane / (outs / multiplier), c = plane % (outs / multiplier);
      const int64_t begin = task % bands * band, end = std::min(g.out_h, begin + band);
      const int64_t top = begin * p.stride_h - p.padding_h;
      const int64_t bottom = (end - 1) * p.stride_h + (g.kernel_h - 1) * p.dilation_h - p.padding_h;
      const int64_t first = std::clamp<int64_t>(top, 0, image.height), last = std::min(image.height, bottom + 1);
      T* lines = line_memory.get<T>(std::max<int64_t>(1, last - first) * rows.row);
      for (int64_t ih = first; ih < last; ++ih) {
        PadRow(image, rows, p.stride_w, image.plane(batch, c) + ih * image.row_stride, lines + (ih - first) * rows.row);
      }
      for (int64_t o = c * multiplier; o < (c + 1) * multiplier; ++o) {
        DepthwisePlane(g, image, rows, lines, first, weight + o * g.taps(), bias ? bias[o] : T{0}, begin, end, out,
                       (batch * outs + o) * g.pixels(), scratch);
      }
    }
  });
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
