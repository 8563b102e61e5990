#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "media/mel_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "media/fft_tables.h"
#include "media/mel_kernel.h"

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Every vector holds the same point of several frames, one per lane: all arithmetic is vertical. At most eight, so that
// both buffers of the transform stay in the first cache.
using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;
constexpr size_t kMaxLanes = 8;

struct Complex {
  V re, im;
};
HWY_INLINE Complex add(Complex a, Complex b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Complex sub(Complex a, Complex b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
HWY_INLINE Complex minus_i_times(Complex a) { return {a.im, hn::Neg(a.re)}; }
HWY_INLINE Complex scale(Complex a, V factor) { return {hn::Mul(a.re, factor), hn::Mul(a.im, factor)}; }
HWY_INLINE Complex add_scaled(Complex a, Complex b, V factor) {
  return {hn::MulAdd(b.re, factor, a.re), hn::MulAdd(b.im, factor, a.im)};
}
HWY_INLINE Complex turn(D d, Complex a, Turn by) {
  const V cos = hn::Set(d, by.cos), sin = hn::Set(d, by.sin);
  return {hn::NegMulAdd(a.im, sin, hn::Mul(a.re, cos)), hn::MulAdd(a.im, cos, hn::Mul(a.re, sin))};
}

// One complex point of all lanes: re, then im.
HWY_INLINE Complex load(D d, const float* at) { return {hn::Load(d, at), hn::Load(d, at + kMaxLanes)}; }
HWY_INLINE void store(D d, Complex a, float* at) {
  hn::Store(a.re, d, at);
  hn::Store(a.im, d, at + kMaxLanes);
}
constexpr size_t kPoint = 2 * kMaxLanes;

HWY_INLINE void butterfly(D, std::integral_constant<int, 2>, const Complex (&x)[2], Complex (&y)[2]) {
  y[0] = add(x[0], x[1]);
  y[1] = sub(x[0], x[1]);
}

HWY_INLINE void butterfly(D, std::integral_constant<int, 4>, const Complex (&x)[4], Complex (&y)[4]) {
  const Complex a = add(x[0], x[2]), b = sub(x[0], x[2]), c = add(x[1], x[3]), e = minus_i_times(sub(x[1], x[3]));
  y[0] = add(a, c);
  y[1] = add(b, e);
  y[2] = sub(a, c);
  y[3] = sub(b, e);
}

HWY_INLINE void butterfly(D d, std::integral_constant<int, 5>, const Complex (&x)[5], Complex (&y)[5]) {
  const V cos1 = hn::Set(d, 0.309016994374947424f), cos2 = hn::Set(d, -0.809016994374947424f);  // of 72 and 144 degrees
  const V sin1 = hn::Set(d, 0.951056516295153572f), sin2 = hn::Set(d, 0.587785252292473129f);
  const Complex a = add(x[1], x[4]), b = add(x[2], x[3]), c = sub(x[1], x[4]), e = sub(x[2], x[3]);
  const Complex even1 = add_scaled(add_scaled(x[0], a, cos1), b, cos2);
  const Complex even2 = add_scaled(add_scaled(x[0], a, cos2), b, cos1);
  const Complex odd1 = minus_i_times(add_scaled(scale(c, sin1), e, sin2));
  const Complex odd2 = minus_i_times(add_scaled(scale(c, sin2), e, hn::Neg(sin1)));
  y[0] = add(x[0], add(a, b));
  y[1] = add(even1, odd1);
  y[2] = add(even2, odd2);
  y[3] = sub(even2, odd2);
  y[4] = sub(even1, odd1);
}

// One pass of Stockham's transform: the order comes out right without a shuffle at the end. `length` points are left
// to transform, `stride` of them at once.
template <int kRadix>
void pass(D d, const float* HWY_RESTRICT from, float* HWY_RESTRICT to, int length, int stride, const Turn* turns) {
  const int groups = length / kRadix;
  for (int group = 0; group < groups; ++group, turns += kRadix - 1) {
    for (int i = 0; i < stride; ++i) {
      Complex x[kRadix], y[kRadix];
      for (int k = 0; k < kRadix; ++k) {
        x[k] = load(d, from + static_cast<size_t>(i + stride * (group + groups * k)) * kPoint);
      }
      butterfly(d, std::integral_constant<int, kRadix>(), x, y);
      float* out = to + static_cast<size_t>(i + stride * kRadix * group) * kPoint;
      store(d, y[0], out);
      for (int k = 1; k < kRadix; ++k)
        store(d, turn(d, y[k], turns[k - 1]), out + static_cast<size_t>(stride * k) * kPoint);
    }
  }
}

// The power of 400 real numbers' spectrum, seen as 200 complex ones (even places real, odd ones imaginary).
// `points` is [200] and gets overwritten; power [201][kMaxLanes].
void power_of(D d, float* HWY_RESTRICT points, float* HWY_RESTRICT other, float* HWY_RESTRICT power) {
  const FftTables& tables = fft_tables();
  pass<5>(d, points, other, 200, 1, tables.first.data());
  pass<5>(d, other, points, 40, 5, tables.second.data());
  pass<4>(d, points, other, 8, 25, tables.third.data());
  pass<2>(d, other, points, 2, 100, tables.fourth.data());
  const V half = hn::Set(d, 0.5f);
  for (int k = 0; k <= 200; ++k) {
    const Complex z = load(d, points + static_cast<size_t>(k % 200) * kPoint);
    Complex mirrored = load(d, points + static_cast<size_t>((200 - k) % 200) * kPoint);
    mirrored.im = hn::Neg(mirrored.im);
    const Complex even = scale(add(z, mirrored), half);
    const Complex odd = scale(minus_i_times(sub(z, mirrored)), half);
    const Complex value = add(even, turn(d, odd, tables.real[static_cast<size_t>(k)]));
    const V squared = hn::MulAdd(value.re, value.re, hn::Mul(value.im, value.im));
    hn::Store(squared, d, power + static_cast<size_t>(k) * kMaxLanes);
  }
}

struct Scratch {
  alignas(64) float points[200 * kPoint];
  alignas(64) float other[200 * kPoint];
  alignas(64) float power[kMelSpectrum * kMaxLanes];
};

// Puts window * weights of up to Lanes(d) frames side by side; lanes without a frame repeat the last.
void gather_frames(D d, const float* samples, size_t count, const float* weights, float* points) {
  const size_t lanes = hn::Lanes(d);
  for (size_t lane = 0; lane < lanes; ++lane) {
    const float* frame = samples + std::min(lane, count - 1) * kMelHop;
    for (size_t i = 0; i < kMelWindow; ++i) {
      const float sample = weights ? frame[i] * weights[i] : frame[i];
      points[i * kMaxLanes + lane] = sample;
    }
  }
}

void log_mel_here(const float* samples, int64_t frames, std::span<const MelFilter> filters, float* out) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V floor = hn::Set(d, 1e-10f);
  Scratch scratch;
  alignas(64) float logs[kMaxLanes];
  for (int64_t begin = 0; begin < frames; begin += lanes) {
    const int64_t count = std::min(lanes, frames - begin);
    gather_frames(d, samples + begin * kMelHop, static_cast<size_t>(count), fft_tables().hann.data(), scratch.points);
    power_of(d, scratch.points, scratch.other, scratch.power);
    float* to = out + begin * static_cast<int64_t>(filters.size());
    for (size_t bin = 0; bin < filters.size(); ++bin) {
      const MelFilter& filter = filters[bin];
      V sum = hn::Zero(d);
      const float* power = scratch.power + static_cast<size_t>(filter.first) * kMaxLanes;
      for (const float weight : filter.weights) {
        sum = hn::MulAdd(hn::Load(d, power), hn::Set(d, weight), sum);
        power += kMaxLanes;
      }
      hn::Store(hn::Log10(d, hn::Max(sum, floor)), d, logs);
      for (int64_t lane = 0; lane < count; ++lane)
        to[lane * static_cast<int64_t>(filters.size()) + static_cast<int64_t>(bin)] = logs[lane];
    }
  }
}

void power_spectrum_here(const float* samples, float* out) {
  const D d;
  Scratch scratch;
  gather_frames(d, samples, 1, nullptr, scratch.points);
  power_of(d, scratch.points, scratch.other, scratch.power);
  for (size_t k = 0; k < kMelSpectrum; ++k) out[k] = scratch.power[k * kMaxLanes];
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {

HWY_EXPORT(log_mel_here);
HWY_EXPORT(power_spectrum_here);

void log_mel_frames(const float* samples, int64_t frames, std::span<const MelFilter> filters, float* out) {
  HWY_DYNAMIC_DISPATCH(log_mel_here)(samples, frames, filters, out);
}

void power_spectrum(const float* samples, float* out) { HWY_DYNAMIC_DISPATCH(power_spectrum_here)(samples, out); }

}  // namespace wick
#endif
