// Vector functions from tables held in registers, for AVX-512: a lookup among 32 floats is one instruction there. Each
// is a functor that loads its tables once. Errors are a few units in the last place. Included once per target.
#if defined(WICK_BACKENDS_CPU_TABLE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_TABLE_MATH_INL_H
#undef WICK_BACKENDS_CPU_TABLE_MATH_INL_H
#else
#define WICK_BACKENDS_CPU_TABLE_MATH_INL_H
#endif

#include "backends/cpu/basic/segment_tables.h"
#include "backends/cpu/math-inl.h"

#if WICK_HAVE_SCALEF
HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

using TagF32 = hn::ScalableTag<float>;
using VecF32 = hn::Vec<TagF32>;

// 32 floats; only the low five bits of an index count.
struct Table32 {
  explicit HWY_INLINE Table32(const float* from)
      : low(hn::LoadU(TagF32(), from)), high(hn::LoadU(TagF32(), from + 16)) {}
  HWY_INLINE VecF32 operator[](__m512i index) const { return VecF32{_mm512_permutex2var_ps(low.raw, index, high.raw)}; }
  VecF32 low, high;
};

// 16 floats by the low four bits: half the cost of 32.
struct Table16 {
  explicit HWY_INLINE Table16(const float* from) : all(hn::LoadU(TagF32(), from)) {}
  HWY_INLINE VecF32 operator[](__m512i index) const { return VecF32{_mm512_permutexvar_ps(index, all.raw)}; }
  VecF32 all;
};

template <int kTerms>
struct Segments {
  explicit HWY_INLINE Segments(const cpu::SegmentTable& table)
      : width(hn::Set(TagF32(), table.width)),
        per_width(hn::Set(TagF32(), table.per_width)),
        last(hn::Set(TagF32(), table.last)),
        c0(table.c[0]),
        c1(table.c[1]),
        c2(table.c[2]),
        c3(table.c[3]),
        c4(table.c[4]),
        c5(table.c[5]) {}
  HWY_INLINE VecF32 Piece(__m512i index, VecF32 r) const {
    auto result = c4[index];
    if constexpr (kTerms > 5) result = hn::MulAdd(c5[index], r, result);
    result = hn::MulAdd(result, r, c3[index]);
    result = hn::MulAdd(result, r, c2[index]);
    result = hn::MulAdd(result, r, c1[index]);
    return hn::MulAdd(result, r, c0[index]);
  }
  // x >= 0 must lie within the pieces.
  HWY_INLINE VecF32 Even(VecF32 x) const {
    const auto magic = hn::Set(TagF32(), 12582912.0f);  // 1.5 * 2^23: the sum ends in the nearest integer
    const auto shifted = hn::MulAdd(x, per_width, magic);
    return Piece(_mm512_castps_si512(shifted.raw), hn::NegMulAdd(hn::Sub(shifted, magic), width, x));
  }
  // The same for pieces that widen, four to an octave of 1 + x / width.
  HWY_INLINE VecF32 Widening(VecF32 x) const {
    const TagF32 d;
    const auto one = hn::Set(d, 1.0f);
    const __m512i bits = _mm512_castps_si512(hn::MulAdd(x, per_width, one).raw);
    const VecF32 start{_mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(~0x1fffff)))};
    return Piece(_mm512_srli_epi32(bits, 21), hn::NegMulAdd(hn::Sub(start, one), width, x));
  }
  // From `last` on the value stays. Min returns its second operand for NaN.
  HWY_INLINE VecF32 Bounded(VecF32 x) const { return hn::Min(last, x); }
  VecF32 width, per_width, last;
  Table16 c0, c1, c2, c3, c4, c5;
};

struct TanhOp {
  HWY_INLINE TanhOp() : segments(cpu::tanh_segments()) {}
  Segments<6> segments;
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    return hn::CopySign(segments.Widening(segments.Bounded(hn::Abs(x))), x);
  }
};
struct ErfOp {
  HWY_INLINE ErfOp() : segments(cpu::erf_segments()) {}
  Segments<6> segments;
  HWY_INLINE VecF32 operator()(VecF32 x) const { return hn::CopySign(segments.Even(segments.Bounded(hn::Abs(x))), x); }
};
// x (1/2 + g(x)) with g odd is x/2 + |x| g(|x|).
struct GeluOp {
  explicit HWY_INLINE GeluOp(const cpu::SegmentTable& table = cpu::gelu_segments()) : segments(table) {}
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    const auto size = hn::Abs(x);
    return hn::MulAdd(size, segments.Even(segments.Bounded(size)), hn::Mul(x, hn::Set(TagF32(), 0.5f)));
  }
  Segments<6> segments;
};
struct GeluTanhOp : GeluOp {
  HWY_INLINE GeluTanhOp() : GeluOp(cpu::gelu_tanh_segments()) {}
};

// e^x = 2^(k/32) e^r 2^n.
struct ExpOp {
  HWY_INLINE ExpOp() : power(cpu::power_table().power) {}
  Table32 power;
  // -110 <= x <= 100 or NaN.
  HWY_INLINE VecF32 InRange(VecF32 x) const {
    const TagF32 d;
    const auto magic = hn::Set(d, 0x1.8p18f);  // the sum ends in the nearest 32nd
    const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
    const auto n = hn::Sub(shifted, magic);
    auto r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x);
    r = hn::NegMulAdd(n, hn::Set(d, 1.428606765e-06f), r);
    const auto scale = power[_mm512_castps_si512(shifted.raw)];
    const auto tail = hn::Mul(r, hn::MulAdd(r, hn::Set(d, 0.5000049f), hn::Set(d, 1.0000147f)));
    return VecF32{_mm512_scalef_ps(hn::MulAdd(scale, tail, scale).raw, n.raw)};
  }
  HWY_INLINE VecF32 Negative(VecF32 x) const { return InRange(hn::Max(hn::Set(TagF32(), -110.0f), x)); }
  HWY_INLINE VecF32 operator()(VecF32 x) const { return Negative(hn::Min(hn::Set(TagF32(), 100.0f), x)); }
};

// 1 / (1 + e^-x), the power built from its bits.
struct SigmoidOp {
  HWY_INLINE SigmoidOp() : power(cpu::power_table().bits) {}
  Table32 power;
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    const TagF32 d;
    const auto one = hn::Set(d, 1.0f), low = hn::Set(d, -87.3f), magic = hn::Set(d, 0x1.8p18f);
    // Max and Min return their second operand for NaN; below the bound, where f32 ends, the result is 0.
    const auto y = hn::Min(hn::Set(d, 87.3f), hn::Max(low, x));
    const auto shifted = hn::NegMulAdd(y, hn::Set(d, 1.44269504f), magic);
    const auto n = hn::Sub(shifted, magic);
    auto r = hn::NegMulSub(n, hn::Set(d, 0.693145751953125f), y);
    r = hn::NegMulAdd(n, hn::Set(d, 1.428606765e-06f), r);
    const __m512i bits = _mm512_castps_si512(shifted.raw);
    const VecF32 scale{
        _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(power[bits].raw), _mm512_slli_epi32(bits, 18)))};
    const auto tail = hn::Mul(r, hn::MulAdd(r, hn::Set(d, 0.5000049f), hn::Set(d, 1.0000147f)));
    const auto sum = hn::Add(hn::MulAdd(scale, tail, scale), one);
    const VecF32 near{_mm512_rcp14_ps(sum.raw)};  // 14 bits, doubled by one step of Newton's
    const auto rest = hn::NegMulAdd(sum, near, one);
    return VecF32{_mm512_maskz_fmadd_ps(_mm512_cmp_ps_mask(x.raw, low.raw, _CMP_NLT_UQ), rest.raw, near.raw, near.raw)};
  }
};
struct SiluOp {
  HWY_INLINE SiluOp() {}  // NOLINT: a default one would not be compiled for the target
  SigmoidOp sigmoid;
  HWY_INLINE VecF32 operator()(VecF32 x) const { return hn::Mul(x, sigmoid(x)); }
};

// max(x, 0) + log(1 + e^-|x|)
struct SoftplusOp {
  HWY_INLINE SoftplusOp() : log1p(cpu::log1p_segments()) {}
  ExpOp exp;
  Segments<5> log1p;
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    const auto part = log1p.Even(exp.Negative(hn::Neg(hn::Abs(x))));
    return hn::Add(hn::Max(x, hn::Zero(TagF32())), part);
  }
};

struct LogOp {
  HWY_INLINE LogOp()
      : reciprocal(hn::LoadU(TagF32(), cpu::log_table().reciprocal)), log(hn::LoadU(TagF32(), cpu::log_table().log)) {}
  VecF32 reciprocal, log;
  // 0, infinity and NaN come out of the exponent, negative numbers are NaN in the mantissa.
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    constexpr float kP[] = {-0.5f, 1.0f / 3, -0.25f, 0.2f, -1.0f / 6};
    const TagF32 d;
    const VecF32 exponent{_mm512_getexp_ps(x.raw)};
    const VecF32 mantissa{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan)};
    const __m512i index = _mm512_srli_epi32(_mm512_castps_si512(mantissa.raw), 19);
    const auto r = hn::MulSub(mantissa, VecF32{_mm512_permutexvar_ps(index, reciprocal.raw)}, hn::Set(d, 1.0f));
    const auto whole = hn::MulAdd(exponent, hn::Set(d, 0.693147181f), VecF32{_mm512_permutexvar_ps(index, log.raw)});
    return hn::Add(whole, hn::MulAdd(hn::Mul(Polynomial(d, r, kP), r), r, r));
  }
};

// a^b for positive finite a and finite b: 2^(b log2 a), the logarithm in f64.
struct PowOp {
  HWY_INLINE PowOp() : power(cpu::power_table().power) {
    const auto& table = cpu::wide_log_table();
    for (int i = 0; i < 2; ++i) {
      reciprocal[i] = _mm512_loadu_pd(table.reciprocal + 8 * i);
      log2[i] = _mm512_loadu_pd(table.log2 + 8 * i);
    }
  }
  HWY_INLINE VecF32 operator()(VecF32 a, VecF32 b) const {
    const TagF32 d;
    const __m512 exponent = _mm512_getexp_ps(a.raw);
    const __m512 mantissa = _mm512_getmant_ps(a.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    const __m512i index = _mm512_srli_epi32(_mm512_castps_si512(mantissa), 19);
    __m256 n[2], r[2];
    for (int half = 0; half < 2; ++half) {
      const auto wide = [half](__m512 v) HWY_ATTR {
        return _mm512_cvtps_pd(half ? _mm512_extractf32x8_ps(v, 1) : _mm512_castps512_ps256(v));
      };
      const __m512i at =
          _mm512_cvtepu32_epi64(half ? _mm512_extracti32x8_epi32(index, 1) : _mm512_castsi512_si256(index));
      Exponent(wide(exponent), wide(mantissa), at, wide(b.raw), n[half], r[half]);
    }
    const auto join = [](const __m256(&v)[2])
                          HWY_ATTR { return VecF32{_mm512_insertf32x8(_mm512_castps256_ps512(v[0]), v[1], 1)}; };
    const auto whole = join(n), part = join(r);
    const auto shifted = hn::Add(whole, hn::Set(d, 0x1.8p18f));  // ends in the 32nds of `whole`
    const auto scale = power[_mm512_castps_si512(shifted.raw)];
    const auto tail = hn::Mul(part, hn::MulAdd(part, hn::Set(d, 0.24022886f), hn::Set(d, 0.69315734f)));
    return VecF32{_mm512_scalef_ps(hn::MulAdd(scale, tail, scale).raw, whole.raw)};
  }

 private:
  // b log2 a = n + r with n a multiple of 1/32. Beyond +-200 an f32 has long become infinity or 0.
  HWY_INLINE void Exponent(__m512d exponent, __m512d mantissa, __m512i at, __m512d b, __m256& n, __m256& r) const {
    constexpr double kLog2E = 1.44269504088896340736;
    const auto set = [](double v) HWY_ATTR { return _mm512_set1_pd(v); };
    const __m512d x = _mm512_fmsub_pd(mantissa, _mm512_permutex2var_pd(reciprocal[0], at, reciprocal[1]), set(1));
    __m512d p = _mm512_fmadd_pd(set(kLog2E / 7), x, set(-kLog2E / 6));
    p = _mm512_fmadd_pd(p, x, set(kLog2E / 5));
    p = _mm512_fmadd_pd(p, x, set(-kLog2E / 4));
    p = _mm512_fmadd_pd(p, x, set(kLog2E / 3));
    p = _mm512_fmadd_pd(p, x, set(-kLog2E / 2));
    p = _mm512_fmadd_pd(p, x, set(kLog2E));
    const __m512d whole = _mm512_add_pd(exponent, _mm512_permutex2var_pd(log2[0], at, log2[1]));
    __m512d y = _mm512_mul_pd(b, _mm512_fmadd_pd(p, x, whole));
    y = _mm512_min_pd(_mm512_max_pd(y, set(-200)), set(200));
    const __m512d magic = set(0x1.8p47);  // the sum ends in the nearest 32nd
    const __m512d nearest = _mm512_sub_pd(_mm512_add_pd(y, magic), magic);
    n = _mm512_cvtpd_ps(nearest);
    r = _mm512_cvtpd_ps(_mm512_sub_pd(y, nearest));
  }

  __m512d reciprocal[2], log2[2];
  Table32 power;
};

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // WICK_HAVE_SCALEF

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// e^x for x <= 0, as ExpNegative.
template <typename T>
struct NegativeExpOp {
  using D = hn::ScalableTag<T>;
  HWY_INLINE hn::Vec<D> operator()(hn::Vec<D> x) const { return ExpNegative(D(), x); }
};
#if WICK_HAVE_SCALEF
template <>
struct NegativeExpOp<float> {
  HWY_INLINE NegativeExpOp() {}  // NOLINT
  ExpOp exp;
  HWY_INLINE VecF32 operator()(VecF32 x) const { return exp.Negative(x); }
};
#endif

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
