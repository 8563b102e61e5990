// Copies image pixels into the panels that the convolution's matrix product reads. Included once per target.
#if defined(WICK_BACKENDS_CPU_CONV_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_CONV_PACK_INL_H
#undef WICK_BACKENDS_CPU_CONV_PACK_INL_H
#else
#define WICK_BACKENDS_CPU_CONV_PACK_INL_H
#endif

#include <cstring>

#include "backends/cpu/conv/conv_image-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

inline constexpr int64_t kConvVectors = 3;  // width of a panel in vectors

// How a window lies on the image: the sizes of the weight's and the output's planes with the parameters.
struct ConvGeometry {
  Conv2dParams params;
  int64_t kernel_h = 1, kernel_w = 1, out_h = 1, out_w = 1;
  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t pixels() const { return out_h * out_w; }
};

// Calls body(at, source, length) for each run of output pixels [first, first + count) whose tap (kh, kw) lies inside
// the image: pixels first + at ... read plane elements source ... in order.
template <typename T, typename Body>
HWY_INLINE void ForEachRun(const ConvImage<T>& image, const ConvGeometry& g, int64_t kh, int64_t kw, int64_t first,
                           int64_t count, const Body& body) {
  const Conv2dParams& p = g.params;
  const ConvColumns columns = TapColumns(image, p.stride_w, kw * p.dilation_w - p.padding_w, g.out_w);
  int64_t oh = first / g.out_w, ow = first - oh * g.out_w;
  for (int64_t at = 0; at < count; ++oh, ow = 0) {
    const int64_t length = std::min(count - at, g.out_w - ow);
    const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
    const int64_t begin = std::max(ow, columns.begin), end = std::min(ow + length, columns.end);
    if (ih >= 0 && ih < image.height && begin < end) {
      body(at + begin - ow, ih * image.row_stride + columns.start + begin, end - begin);
    }
    at += length;
  }
}

// A part of one vector: lanes [first, last) come from plane[source + lane].
struct ConvPiece {
  int64_t source;
  int64_t first, last;
};

// The vector from the pieces, zero elsewhere. Reads no other elements.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadPieces(D d, const T* plane, const ConvPiece* pieces, int count) {
#if WICK_NATIVE_F16_AND_MASKS
  auto v = hn::Zero(d);
  for (int i = 0; i < count; ++i) {
    const auto mask = hn::AndNot(hn::FirstN(d, pieces[i].first), hn::FirstN(d, pieces[i].last));
    v = hn::Or(v, hn::MaskedLoad(mask, d, plane + pieces[i].source));
  }
  return v;
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (int i = 0; i < count; ++i) {
    const int64_t first = pieces[i].first;
    std::memcpy(lanes + first, plane + pieces[i].source + first, (pieces[i].last - first) * sizeof(T));
  }
  return hn::Load(d, lanes);
#endif
}

// One vector of the same tap for `channels` channels, `stride` elements apart in the panel.
template <class D, typename T>
void PackVector(D d, const T* plane, int64_t channel_stride, int64_t channels, const ConvPiece* pieces, int count,
                T* HWY_RESTRICT to, int64_t stride) {
  const int64_t lanes = hn::Lanes(d);
  if (count == 0) {
    for (int64_t c = 0; c < channels; ++c, to += stride) hn::Store(hn::Zero(d), d, to);
    return;
  }
  if (count == 1 && pieces[0].first == 0 && pieces[0].last == lanes) {
    plane += pieces[0].source;
    for (int64_t c = 0; c < channels; ++c, to += stride, plane += channel_stride) {
      hn::Store(hn::LoadU(d, plane), d, to);
    }
    return;
  }
#if WICK_NATIVE_F16_AND_MASKS
  if (count <= 2) {
    const ConvPiece& a = pieces[0];
    const ConvPiece& b = pieces[count - 1];
    const auto mask_a = hn::AndNot(hn::FirstN(d, a.first), hn::FirstN(d, a.last));
    const auto mask_b = hn::AndNot(hn::FirstN(d, b.first), hn::FirstN(d, b.last));
    for (int64_t c = 0; c < channels; ++c, to += stride, plane += channel_stride) {
      const auto left = hn::MaskedLoad(mask_a, d, plane + a.source);
      hn::Store(hn::Or(left, hn::MaskedLoad(mask_b, d, plane + b.source)), d, to);
    }
    return;
  }
#endif
  for (int64_t c = 0; c < channels; ++c, to += stride, plane += channel_stride) {
    hn::Store(LoadPieces(d, plane, pieces, count), d, to);
  }
}

// Output pixels [first, first + count), at most kConvVectors vectors of them, for all taps of `channels` channels from
// `plane` on: to[(channel * taps + tap) * stride + pixel], zero outside the image and up to a whole vector.
template <typename T>
void PackPanel(const ConvImage<T>& image, const ConvGeometry& g, const T* plane, int64_t channels, int64_t first,
               int64_t count, T* HWY_RESTRICT to, int64_t stride) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  ConvPiece pieces[kConvVectors][hn::MaxLanes(d)];
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    int counts[kConvVectors] = {};
    ForEachRun(image, g, tap / g.kernel_w, tap % g.kernel_w, first, count,
               [&](int64_t at, int64_t source, int64_t length) {
                 for (int64_t v = at / lanes; v * lanes < at + length; ++v) {
                   const int64_t base = v * lanes;
                   pieces[v][counts[v]++] = {source - at + base, std::max<int64_t>(0, at - base),
                                             std::min(lanes, at + length - base)};
                 }
               });
    for (int64_t v = 0; v * lanes < count; ++v) {
      PackVector(d, plane, image.channel_stride, channels, pieces[v], counts[v], to + tap * stride + v * lanes,
                 g.taps() * stride);
    }
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
