// Exact integer dot products of 8-bit weights and activations, for every target. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_DOT_INL_H
#undef WICK_BACKENDS_CPU_PACKED_DOT_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_DOT_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

// Highway's AVX3_DL asks the CPU for the 8-bit dot product of AVX-512 but does not tell the compiler.
#undef WICK_VNNI
#undef WICK_BEFORE_PACKED
#undef WICK_PACKED_INLINE
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
#define WICK_VNNI 1
#define WICK_BEFORE_PACKED() \
  HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni") static_assert(true, "HWY_PUSH_ATTRIBUTES wants a semicolon")
#define WICK_PACKED_INLINE __attribute__((always_inline, target(HWY_TARGET_STR ",avx512vnni")))
#else
#define WICK_VNNI 0
#define WICK_BEFORE_PACKED() HWY_BEFORE_NAMESPACE()
#define WICK_PACKED_INLINE __attribute__((always_inline)) HWY_ATTR
#endif

// Targets without shuffles, or that emulate them slowly, decode the weights and multiply floats instead.
#undef WICK_PACKED_SIMD
#define WICK_PACKED_SIMD (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if WICK_PACKED_SIMD

// a[2l] * b[2l] + a[2l + 1] * b[2l + 1] of 16-bit lanes.
template <class D32, class V16>
HWY_INLINE hn::Vec<D32> MulPairs([[maybe_unused]] D32 d32, V16 a, V16 b) {
#if HWY_ARCH_X86
  if constexpr (hn::MaxLanes(D32()) == 4) return hn::Vec<D32>{_mm_madd_epi16(a.raw, b.raw)};
#if HWY_TARGET <= HWY_AVX2
  if constexpr (hn::MaxLanes(D32()) == 8) return hn::Vec<D32>{_mm256_madd_epi16(a.raw, b.raw)};
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(D32()) == 16) return hn::Vec<D32>{_mm512_madd_epi16(a.raw, b.raw)};
#endif
#elif HWY_ARCH_WASM
  (void)d32;
  return hn::Vec<D32>{wasm_i32x4_dot_i16x8(a.raw, b.raw)};
#else
  auto odd = hn::Zero(d32);
  const auto even = hn::ReorderWidenMulAccumulate(d32, a, b, hn::Zero(d32), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
#endif
}

#if HWY_ARCH_X86
// u8 * i8 in neighbouring pairs to 16 bits; exact when the u8 are at most 127 and the i8 at least -127.
template <class V8>
HWY_INLINE auto MulBytePairs(V8 w, V8 x) {
  using D16 = hn::Repartition<int16_t, hn::DFromV<V8>>;
  if constexpr (sizeof(w.raw) == 16) return hn::Vec<D16>{_mm_maddubs_epi16(w.raw, x.raw)};
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(w.raw) == 32) return hn::Vec<D16>{_mm256_maddubs_epi16(w.raw, x.raw)};
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(w.raw) == 64) return hn::Vec<D16>{_mm512_maddubs_epi16(w.raw, x.raw)};
#endif
}
#endif

// sum[l] + w[4l] * x[4l] + ... + w[4l + 3] * x[4l + 3], exactly. w holds unsigned bytes of kBits bits, x signed bytes
// of at least -127; both are passed as vectors of u8.
template <int kBits, class D32, class V8>
HWY_INLINE hn::Vec<D32> Dot4(D32 d32, hn::Vec<D32> sum, V8 w, V8 x) {
#if WICK_VNNI
  // Written out because the compiler may pick the other encoding (AVX-VNNI), which some of these CPUs lack.
  if constexpr (hn::MaxLanes(D32()) == 16) {
    return hn::Vec<D32>{_mm512_dpbusd_epi32(sum.raw, w.raw, x.raw)};
  } else {
    asm("%{evex%} vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
    return sum;
  }
#else
  const hn::Repartition<int16_t, D32> d16;
#if HWY_ARCH_X86
  if constexpr (kBits <= 7) return hn::Add(sum, MulPairs(d32, MulBytePairs(w, x), hn::Set(d16, 1)));
#elif HWY_ARCH_ARM && defined(__ARM_FEATURE_DOTPROD)
  if constexpr (kBits <= 7) {
    return hn::Vec<D32>{vdotq_s32(sum.raw, vreinterpretq_s8_u8(w.raw), vreinterpretq_s8_u8(x.raw))};
  }
#endif
  const hn::RebindToUnsigned<decltype(d16)> du16;
  const auto w_even = hn::BitCast(d16, hn::And(hn::BitCast(du16, w), hn::Set(du16, 0xff)));
  const auto w_odd = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, w)));
  const auto x_even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(d16, x)));
  const auto x_odd = hn::ShiftRight<8>(hn::BitCast(d16, x));
  return hn::Add(sum, hn::Add(MulPairs(d32, w_even, x_even), MulPairs(d32, w_odd, x_odd)));
#endif
}

// sum + scale * Dot4: `scale` has a 16-bit factor for each pair of bytes, the same for all four of a lane.
template <int kBits, class D32, class V8, class V16>
HWY_INLINE hn::Vec<D32> ScaledDot4(D32 d32, hn::Vec<D32> sum, V8 w, V8 x, V16 scale) {
#if HWY_ARCH_X86
  if constexpr (kBits <= 7) {
    const auto pairs = MulBytePairs(w, x);
#if WICK_VNNI
    asm("%{evex%} vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(pairs.raw), "v"(scale.raw));
    return sum;
#else
    return hn::Add(sum, MulPairs(d32, pairs, scale));
#endif
  }
#endif
  const auto wide = hn::ShiftRight<16>(hn::BitCast(d32, scale));
  return hn::Add(sum, hn::Mul(Dot4<kBits>(d32, hn::Zero(d32), w, x), wide));
}

// Lane i of the result is the sum of the lanes of v[i]; v has as many vectors as they have lanes (4 or 8).
template <class D32>
HWY_INLINE hn::Vec<D32> SumEach(D32 d32, const hn::Vec<D32>* HWY_RESTRICT v) {
  const hn::Repartition<int64_t, D32> d64;
  const auto four = [&](const hn::Vec<D32>* u) HWY_ATTR {
    const auto a = hn::Add(hn::InterleaveLower(d32, u[0], u[1]), hn::InterleaveUpper(d32, u[0], u[1]));
    const auto b = hn::Add(hn::InterleaveLower(d32, u[2], u[3]), hn::InterleaveUpper(d32, u[2], u[3]));
    const auto a64 = hn::BitCast(d64, a), b64 = hn::BitCast(d64, b);
    return hn::Add(hn::BitCast(d32, hn::InterleaveLower(d64, a64, b64)),
                   hn::BitCast(d32, hn::InterleaveUpper(d64, a64, b64)));
  };
  const auto low = four(v);
  if constexpr (hn::MaxLanes(D32()) == 4) {
    return low;
  } else {
    const auto high = four(v + 4);
    return hn::Add(hn::ConcatLowerLower(d32, high, low), hn::ConcatUpperUpper(d32, high, low));
  }
}

// Swaps rows and columns of a square of 32-bit lanes (4 x 4 or 8 x 8).
template <class D32>
HWY_INLINE void TransposeSquare(D32 d32, hn::Vec<D32>* HWY_RESTRICT v) {
  const hn::Repartition<int64_t, D32> d64;
  const auto four = [&](hn::Vec<D32>* u) HWY_ATTR {
    const auto a = hn::BitCast(d64, hn::InterleaveLower(d32, u[0], u[1]));
    const auto b = hn::BitCast(d64, hn::InterleaveUpper(d32, u[0], u[1]));
    const auto c = hn::BitCast(d64, hn::InterleaveLower(d32, u[2], u[3]));
    const auto e = hn::BitCast(d64, hn::InterleaveUpper(d32, u[2], u[3]));
    u[0] = hn::BitCast(d32, hn::InterleaveLower(d64, a, c));
    u[1] = hn::BitCast(d32, hn::InterleaveUpper(d64, a, c));
    u[2] = hn::BitCast(d32, hn::InterleaveLower(d64, b, e));
    u[3] = hn::BitCast(d32, hn::InterleaveUpper(d64, b, e));
  };
  four(v);
  if constexpr (hn::MaxLanes(D32()) == 8) {
    four(v + 4);
    for (int i = 0; i < 4; ++i) {
      const auto low = v[i], high = v[i + 4];
      v[i] = hn::ConcatLowerLower(d32, high, low);
      v[i + 4] = hn::ConcatUpperUpper(d32, high, low);
    }
  }
}

// Calls body(std::integral_constant<int, 0>()) and so on up to kCount - 1.
template <int kCount, int kFirst = 0, class Body>
HWY_INLINE void Unroll(const Body& body) {
  if constexpr (kFirst < kCount) {
    body(std::integral_constant<int, kFirst>());
    Unroll<kCount, kFirst + 1>(body);
  }
}

#endif  // WICK_PACKED_SIMD

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
