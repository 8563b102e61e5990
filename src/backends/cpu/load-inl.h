// Vector loads of every float storage type and i8, stores of the floats, computed in f32 (or f64 for double). Included
// once per target.
#if defined(WICK_BACKENDS_CPU_LOAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_LOAD_INL_H
#undef WICK_BACKENDS_CPU_LOAD_INL_H
#else
#define WICK_BACKENDS_CPU_LOAD_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/float64-inl.h"
#include "hwy/highway.h"
#include "tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef WICK_NATIVE_F16_AND_MASKS
// AVX2 and newer convert f16 with rounding and mask loads without touching what lies behind.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define WICK_NATIVE_F16_AND_MASKS 1
#else
#define WICK_NATIVE_F16_AND_MASKS 0
#endif

// A whole vector from unaligned memory.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadAs(D d, const T* HWY_RESTRICT from) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::Rebind<uint16_t, D> d16;
    const hn::RebindToUnsigned<D> d32;
    return hn::BitCast(d,
                       hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from)))));
  } else if constexpr (std::is_same_v<T, Half>) {
#if WICK_NATIVE_F16_AND_MASKS
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
#else  // Highway's emulation takes infinity and NaN for numbers
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<float>(from[i]);
    return hn::Load(d, lanes);
#endif
  } else if constexpr (std::is_same_v<T, int8_t> && std::is_same_v<hn::TFromD<D>, float>) {
    const hn::Rebind<int8_t, D> d8;
    const hn::RebindToSigned<D> d32;
    return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, from)));
  } else {
    return hn::LoadU(d, from);
  }
}

// The first `count` lanes (0 to all); the rest are zero. Reads nothing past from[count - 1].
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadAsN(D d, const T* HWY_RESTRICT from, size_t count) {
#if WICK_NATIVE_F16_AND_MASKS
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  if (count) std::memcpy(lanes, from, count * sizeof(T));
  return LoadAs(d, lanes);
}

// Rounds to nearest even into the storage type.
template <class D, typename T>
HWY_INLINE void StoreAs(hn::Vec<D> v, D d, T* HWY_RESTRICT to) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::RebindToUnsigned<D> d32;
    const hn::Rebind<uint16_t, D> d16;
    const auto bits = hn::BitCast(d32, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d32, 0x7fff)), odd));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d32, 0x40));
    const auto result = hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(v)), quiet, rounded);
    const hn::RebindToSigned<decltype(d32)> di32;
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di32, result)), d16, reinterpret_cast<uint16_t*>(to));
  } else if constexpr (std::is_same_v<T, Half>) {
#if WICK_NATIVE_F16_AND_MASKS
    const hn::Rebind<hwy::float16_t, D> d16;
    hn::StoreU(hn::DemoteTo(d16, v), d16, reinterpret_cast<hwy::float16_t*>(to));
#else
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) to[i] = Half(lanes[i]);
#endif
  } else {
    hn::StoreU(v, d, to);
  }
}

// The first `count` lanes only.
template <class D, typename T>
HWY_INLINE void StoreAsN(hn::Vec<D> v, D d, T* HWY_RESTRICT to, size_t count) {
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  StoreAs(v, d, lanes);
  if (count) std::memcpy(to, lanes, count * sizeof(T));
}

// The largest and the smallest lane. Highway's emulation starts from the extreme finite number and loses infinity.
template <class D, class V>
HWY_INLINE hn::TFromD<D> LargestLane(D d, V v) {
#if HWY_TARGET == HWY_EMU128
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  return *std::max_element(lanes, lanes + hn::MaxLanes(d));
#else
  return hn::GetLane(hn::MaxOfLanes(d, v));
#endif
}

template <class D, class V>
HWY_INLINE hn::TFromD<D> SmallestLane(D d, V v) {
#if HWY_TARGET == HWY_EMU128
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  return *std::min_element(lanes, lanes + hn::MaxLanes(d));
#else
  return hn::GetLane(hn::MinOfLanes(d, v));
#endif
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
