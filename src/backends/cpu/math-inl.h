// Vector functions of one variable that <hwy/contrib/math> lacks or does not carry to the ends of its range. Errors are
// a few units in the last place. Included once per target.
#if defined(WICK_BACKENDS_CPU_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_MATH_INL_H
#undef WICK_BACKENDS_CPU_MATH_INL_H
#else
#define WICK_BACKENDS_CPU_MATH_INL_H
#endif

#include <cmath>
#include <limits>

#include "backends/cpu/float64-inl.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c[0] + c[1] x + c[2] x^2 + ...
template <class D, class V, size_t kTerms>
HWY_INLINE V Polynomial(D d, V x, const hn::TFromD<D> (&c)[kTerms]) {
  V result = hn::Set(d, c[kTerms - 1]);
  for (size_t i = kTerms - 1; i-- > 0;) result = hn::MulAdd(result, x, hn::Set(d, c[i]));
  return result;
}

// x = n ln 2 + r: returns e^r and sets `exponent` to n << 23, to be added to a float's bits. NaN stays NaN.
template <class D, class V, class VI>
HWY_INLINE V ExpParts(D d, V x, VI& exponent) {
  const hn::RebindToSigned<D> di;
  constexpr float kP[] = {0.5f, 1.666657329e-01f, 4.166645557e-02f, 8.363776840e-03f, 1.393454499e-03f};
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.428606765e-06f), r);
  exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const V tail = hn::MulAdd(Polynomial(d, r, kP), hn::Mul(r, r), r);
  return hn::Add(tail, hn::Set(d, 1.0f));
}

// With AVX-512, e^r 2^n in one instruction that also rounds subnormals and overflows rightly.
#undef WICK_HAVE_SCALEF
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define WICK_HAVE_SCALEF 1
// The bounds come first in Max and Min, which return their second operand for NaN.
template <class D>
HWY_INLINE hn::Vec<D> ExpScaled(D d, hn::Vec<D> x) {
  constexpr float kP[] = {1.0f, 1.0f, 0.5f, 1.666657329e-01f, 4.166645557e-02f, 8.363776840e-03f, 1.393454499e-03f};
  x = hn::Min(hn::Set(d, 100.0f), hn::Max(hn::Set(d, -110.0f), x));
  const auto magic = hn::Set(d, 12582912.0f);
  const auto n = hn::Sub(hn::MulAdd(x, hn::Set(d, 1.44269504f), magic), magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.428606765e-06f), r);
  return hn::Vec<D>{_mm512_scalef_ps(Polynomial(d, r, kP).raw, n.raw)};
}
#else
#define WICK_HAVE_SCALEF 0
#endif

// e^x for x <= 0; results below the smallest normal f32 may be 0.
template <class D>
HWY_INLINE hn::Vec<D> ExpNegative(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
#if WICK_HAVE_SCALEF
    return ExpScaled(d, x);
#else
    const hn::RebindToSigned<D> di;
    hn::Vec<decltype(di)> exponent;
    const auto r = ExpParts(d, x, exponent);
    const auto result = hn::BitCast(d, hn::Add(hn::BitCast(di, r), exponent));
    const auto kept = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33f)), result);
    return hn::IfThenElse(hn::IsNaN(x), x, kept);
#endif
  } else {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Max(x, hn::Set(d, -760.0))));
  }
}

template <class D>
HWY_INLINE hn::Vec<D> ExpFullF32(D d, hn::Vec<D> x) {
#if WICK_HAVE_SCALEF
  return ExpScaled(d, x);
#else
  const hn::RebindToSigned<D> di;
  hn::Vec<decltype(di)> exponent;
  const auto r = ExpParts(d, x, exponent);
  // Subnormal results are built 2^64 too large and scaled down.
  const auto low = hn::Lt(x, hn::Set(d, -86.0f));
  const auto lift = hn::BitCast(d, hn::Set(di, 64 << 23));
  const auto raised = hn::Add(exponent, hn::BitCast(di, hn::IfThenElseZero(low, lift)));
  auto result = hn::BitCast(d, hn::Add(hn::BitCast(di, r), raised));
  result = hn::Mul(result, hn::IfThenElse(low, hn::Set(d, 0x1p-64f), hn::Set(d, 1.0f)));
  result = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -104.0f)), result);
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  result = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228394f)), infinity, result);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> ExpFullF64(D d, hn::Vec<D> x) {
  const auto low = hn::Set(d, -760.0), high = hn::Set(d, 705.0);
  // Above the range of hn::Exp, e^x = e^(x - 20) e^20.
  const auto large = hn::Gt(x, high);
  const auto y = hn::IfThenElse(large, hn::Sub(x, hn::Set(d, 20.0)), x);
  auto result = hn::Exp(d, hn::Min(hn::Max(y, low), high));
  result = hn::Mul(result, hn::IfThenElse(large, hn::Set(d, 485165195.40979027796911), hn::Set(d, 1.0)));
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  result = hn::IfThenElse(hn::Gt(x, hn::Set(d, 709.782712893384)), infinity, result);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

template <class D>
HWY_INLINE hn::Vec<D> ExpFull(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return ExpFullF32(d, x);
  } else {
    return ExpFullF64(d, x);
  }
}

template <class D>
HWY_INLINE hn::Vec<D> LogFull(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto zero = hn::Zero(d);
  auto result = hn::Log(d, x);
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
  result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), result);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

template <class D>
HWY_INLINE hn::Vec<D> SigmoidOf(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, hn::TFromD<D>{1});
#if WICK_HAVE_SCALEF
  if constexpr (sizeof(hn::TFromD<D>) == 4) return hn::Div(one, hn::Add(one, ExpScaled(d, hn::Neg(x))));
#endif
  const auto e = ExpNegative(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

// max(x, 0) + log(1 + e^-|x|), the logarithm as 2 atanh(t / (2 + t)).
template <class D>
HWY_INLINE hn::Vec<D> SoftplusF32(D d, hn::Vec<D> x) {
  constexpr float kP[] = {
      2.0f, 6.666668057e-01f, 3.999869525e-01f, 2.862062454e-01f, 2.139426768e-01f, 2.440940291e-01f};
  const auto t = ExpNegative(d, hn::Neg(hn::Abs(x)));
  const auto s = hn::Div(t, hn::Add(t, hn::Set(d, 2.0f)));
  const auto log1p = hn::Mul(s, Polynomial(d, hn::Mul(s, s), kP));
  return hn::Add(hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Zero(d)), log1p);
}

template <class D>
HWY_INLINE hn::Vec<D> TanhF32(D d, hn::Vec<D> x) {
  constexpr float kP[] = {-3.333333433e-01f, 1.333330125e-01f,  -5.395862460e-02f,
                          2.176363394e-02f,  -8.326401934e-03f, 2.272704849e-03f};
  const auto one = hn::Set(d, 1.0f);
  const auto size = hn::Abs(x), square = hn::Mul(x, x);
  const auto small = hn::MulAdd(hn::Mul(Polynomial(d, square, kP), square), x, x);
  const auto e = ExpNegative(d, hn::Mul(size, hn::Set(d, -2.0f)));
  const auto large = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625f)), small, large);
}

// x P(x^2) / Q(x^2) up to where it rounds to 1.
template <class D>
HWY_INLINE hn::Vec<D> ErfF32(D d, hn::Vec<D> x) {
  constexpr float kP[] = {1.128379107e+00f, 1.903073341e-01f, 5.273494124e-02f,
                          3.761084285e-03f, 2.847361611e-04f, 2.050332114e-06f};
  constexpr float kQ[] = {
      1.0f, 5.019882321e-01f, 1.140675023e-01f, 1.496030390e-02f, 1.161345164e-03f, 3.808642941e-05f};
  const auto square = hn::Mul(x, x);
  const auto ratio = hn::Div(hn::Mul(x, Polynomial(d, square, kP)), Polynomial(d, square, kQ));
  const auto far = hn::Gt(hn::Abs(x), hn::Set(d, 3.92f));
  return hn::IfThenElse(far, hn::CopySign(hn::Set(d, 1.0f), x), ratio);
}

// Replaces the lanes of `result` where `mask` is set by scalar(x): for arguments outside a vector formula's range.
template <class D, class M, class Scalar>
HWY_INLINE hn::Vec<D> PatchLanes(D d, M mask, hn::Vec<D> x, hn::Vec<D> result, Scalar scalar) {
  using T = hn::TFromD<D>;
  if (HWY_LIKELY(hn::AllFalse(d, mask))) return result;
  HWY_ALIGN T in[hn::MaxLanes(d)], out[hn::MaxLanes(d)];
  hn::Store(x, d, in);
  for (size_t i = 0; i < hn::Lanes(d); ++i) out[i] = scalar(in[i]);
  return hn::IfThenElse(mask, hn::Load(d, out), result);
}

// hn::Sin and hn::Cos hold up to 39000.
template <class D>
HWY_INLINE hn::Vec<D> SinF32(D d, hn::Vec<D> x) {
  const auto far = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, 30000.0f)));
  return PatchLanes(d, far, x, hn::Sin(d, x), [](float v) { return static_cast<float>(std::sin(double{v})); });
}
template <class D>
HWY_INLINE hn::Vec<D> CosF32(D d, hn::Vec<D> x) {
  const auto far = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, 30000.0f)));
  return PatchLanes(d, far, x, hn::Cos(d, x), [](float v) { return static_cast<float>(std::cos(double{v})); });
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
