// Turning the bits of packed weights into bytes. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_UNPACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_UNPACK_INL_H
#undef WICK_BACKENDS_CPU_PACKED_UNPACK_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_UNPACK_INL_H
#endif

#include <bit>

#include "backends/cpu/load-inl.h"
#include "backends/cpu/quant/packed_dot-inl.h"
#include "tensor/half.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

// Vectors of 32 bytes, or 16 where that is all there is: `part` counts them within 32 weights.
using DBytes = hn::CappedTag<uint8_t, 32>;
using DSums = hn::Repartition<int32_t, DBytes>;
using DScales = hn::Repartition<float, DBytes>;
inline constexpr size_t kByteLanes = hn::MaxLanes(DBytes());
inline constexpr size_t kParts = 32 / kByteLanes;
inline constexpr size_t kTile = hn::MaxLanes(DSums());  // weight rows whose sums fill a vector

// One part of two 16-byte vectors: both joined, or one of them where vectors are that short.
template <class V>
HWY_INLINE auto PickPart(V first, V second, size_t part) {
  using D = hn::Repartition<hn::TFromV<V>, DBytes>;
  if constexpr (kParts == 1) {
    (void)part;
    return hn::Combine(D(), second, first);
  } else {
    return part == 0 ? first : second;
  }
}

// Byte i of 32: the low nibble of nibbles[i] for i < 16, else the high nibble of nibbles[i - 16].
HWY_INLINE hn::Vec<DBytes> Nibbles16(const uint8_t* HWY_RESTRICT nibbles, size_t part) {
  const DBytes d8;
  const hn::Repartition<uint32_t, DBytes> d32;
  if constexpr (kParts == 1) {
    alignas(32) static constexpr uint32_t kShifts[8] = {0, 0, 0, 0, 4, 4, 4, 4};
    const auto both = hn::BitCast(d32, hn::LoadDup128(d8, nibbles));
    return hn::And(hn::BitCast(d8, hn::Shr(both, hn::Load(d32, kShifts))), hn::Set(d8, 15));
  } else {
    const auto both = hn::LoadU(d8, nibbles);
    return hn::And(part == 0 ? both : hn::BitCast(d8, hn::ShiftRight<4>(hn::BitCast(d32, both))), hn::Set(d8, 15));
  }
}

// The bits of each byte that begin at kFrom moved to kTo, and those of kMask kept.
template <int kFrom, int kTo, int kMask>
HWY_INLINE hn::Vec<DBytes> MoveBits(hn::Vec<DBytes> v) {
  const DBytes d8;
  const hn::Repartition<uint32_t, DBytes> d32;
  if constexpr (kFrom > kTo) {
    v = hn::BitCast(d8, hn::ShiftRight<kFrom - kTo>(hn::BitCast(d32, v)));
  } else if constexpr (kFrom < kTo) {
    v = hn::BitCast(d8, hn::ShiftLeft<kTo - kFrom>(hn::BitCast(d32, v)));
  }
  return hn::And(v, hn::Set(d8, kMask));
}

HWY_INLINE hn::Vec<DBytes> LoadPart(const uint8_t* HWY_RESTRICT bytes, size_t part) {
  return hn::LoadU(DBytes(), bytes + part * kByteLanes);
}

// 16 where bit i of 32 is set, else 0. Reads 8 bytes from `bits`.
HWY_INLINE hn::Vec<DBytes> BitsAs16(const uint8_t* HWY_RESTRICT bits, size_t part) {
  const DBytes d8;
  return hn::IfThenElseZero(hn::LoadMaskBits(d8, bits + part * kByteLanes / 8), hn::Set(d8, 16));
}

// Signed bytes plus 128.
HWY_INLINE hn::Vec<DBytes> SignedBytes(const int8_t* HWY_RESTRICT bytes, size_t part) {
  return hn::Xor(LoadPart(reinterpret_cast<const uint8_t*>(bytes), part), hn::Set(DBytes(), 0x80));
}

HWY_INLINE hn::Vec<DBytes> LookUp16(const int8_t* table, hn::Vec<DBytes> index) {
  return hn::TableLookupBytes(hn::LoadDup128(DBytes(), reinterpret_cast<const uint8_t*>(table)), index);
}

// 2^(exponent - 128), the scale of doubled E2M1 values; subnormal for 0 and 1.
inline float E8M0Half(uint8_t exponent) {
  return std::bit_cast<float>(exponent >= 2 ? (uint32_t{exponent} - 1) << 23 : 0x200000u << exponent);
}

// One f32 per weight row of a tile.
template <class Scale>
HWY_INLINE hn::Vec<DScales> FloatsOfTile(const Scale& scale) {
  HWY_ALIGN float lanes[kTile];
  for (size_t i = 0; i < kTile; ++i) lanes[i] = scale(i);
  return hn::Load(DScales(), lanes);
}

// One f32 per weight row of a tile, from f16 bits: bits(i) is row i's.
template <class Bits>
HWY_INLINE hn::Vec<DScales> HalvesOfTile(const Bits& bits) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::Vec<DScales>{_mm256_cvtph_ps(_mm_set_epi16(static_cast<int16_t>(bits(7)), static_cast<int16_t>(bits(6)),
                                                        static_cast<int16_t>(bits(5)), static_cast<int16_t>(bits(4)),
                                                        static_cast<int16_t>(bits(3)), static_cast<int16_t>(bits(2)),
                                                        static_cast<int16_t>(bits(1)), static_cast<int16_t>(bits(0))))};
#else
  return FloatsOfTile([&](size_t i) { return f16_bits_to_f32(bits(i)); });
#endif
}

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
