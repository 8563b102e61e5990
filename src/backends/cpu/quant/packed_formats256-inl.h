// What the kernels need to know of the formats with 256 weights per block. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H
#undef WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H
#endif

#include "backends/cpu/quant/packed_unpack-inl.h"
#include "quant/i_quants.h"
#include "quant/k_quants.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

// The integer scales of a block, one per 16 weights (groups of 32 give each twice): first those of the groups 0, 2, 4,
// ..., then 1, 3, 5, ..., so that the two groups of a chunk of 32 weights stand in the two halves of a vector.
using DPairs = hn::Repartition<int16_t, DBytes>;
struct BlockScales {
  HWY_INLINE BlockScales() {}  // NOLINT(modernize-use-equals-default): an implicit one is compiled without the target
  hn::Vec<DPairs> scales[kParts], mins[kParts];
};
inline constexpr int PlaceOfGroup(int group) { return group % 2 * 8 + group / 2; }

// A format says how weight i of a block follows from its byte b, an unsigned number of kBits bits, and its scales:
//   kMins:  scale * scales[group] * b - min_scale * mins[group]
//   else    scale * scales[group] * (b - kOffset)
// kGroup is 16 or 32. State holds what Scales finds out of a block; Values<chunk> gives the bytes of weights 32 chunk
// onwards.

// One f32 per row of a tile: the scale of block `block`, stored as f16.
template <class Block>
struct HalfBlockScale {
  using State = BlockScales;
  static HWY_INLINE hn::Vec<DScales> BlockScale(const Block* const* rows, int64_t block) {
    return HalvesOfTile([&](size_t i) HWY_ATTR { return rows[i][block].scale; });
  }
};

using DGroups = hn::CappedTag<int16_t, 8>;

HWY_INLINE void SetScales(hn::Vec<DPairs>* HWY_RESTRICT to, hn::Vec<DGroups> even, hn::Vec<DGroups> odd) {
  for (size_t p = 0; p < kParts; ++p) to[p] = PickPart(even, odd, p);
}

// Eight bytes as 16-bit numbers.
HWY_INLINE hn::Vec<DGroups> WidenEight(uint64_t bytes) {
  const hn::Rebind<uint8_t, DGroups> d8;
  return hn::PromoteTo(DGroups(), hn::BitCast(d8, hn::Set(hn::Repartition<uint64_t, decltype(d8)>(), bytes)));
}

// Nibble g in byte g.
HWY_INLINE uint64_t SpreadNibbles(uint64_t nibbles) {
  nibbles = (nibbles | nibbles << 16) & 0x0000ffff0000ffff;
  nibbles = (nibbles | nibbles << 8) & 0x00ff00ff00ff00ff;
  return (nibbles | nibbles << 4) & 0x0f0f0f0f0f0f0f0f;
}

// The scales and mins of Q4_K and Q5_K: the layout in quant/group_quants.h, four bytes at a time.
HWY_INLINE void SixBitScales(const uint8_t* HWY_RESTRICT packed, BlockScales& to) {
  uint32_t a, b, c;
  std::memcpy(&a, packed, 4);
  std::memcpy(&b, packed + 4, 4);
  std::memcpy(&c, packed + 8, 4);
  constexpr uint32_t kSix = 0x3f3f3f3f, kFour = 0x0f0f0f0f, kTop = 0x30303030;
  const uint32_t scales_high = (c & kFour) | (a >> 2 & kTop), mins_high = (c >> 4 & kFour) | (b >> 2 & kTop);
  const auto scales = WidenEight((a & kSix) | uint64_t{scales_high} << 32);
  const auto mins = WidenEight((b & kSix) | uint64_t{mins_high} << 32);
  SetScales(to.scales, scales, scales);
  SetScales(to.mins, mins, mins);
}

struct Q4_KRows : HalfBlockScale<BlockQ4_K> {
  using Block = BlockQ4_K;
  static constexpr int kBits = 4, kGroup = 32, kOffset = 0;
  static constexpr bool kMins = true;
  static HWY_INLINE void Scales(const Block& block, BlockScales& to) { SixBitScales(block.group_scales, to); }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const BlockScales&, size_t part) {
    return MoveBits<kChunk % 2 * 4, 0, 15>(LoadPart(block.nibbles + kChunk / 2 * 32, part));
  }
};

struct Q5_KRows : HalfBlockScale<BlockQ5_K> {
  using Block = BlockQ5_K;
  static constexpr int kBits = 5, kGroup = 32, kOffset = 0;
  static constexpr bool kMins = true;
  static HWY_INLINE void Scales(const Block& block, BlockScales& to) { SixBitScales(block.group_scales, to); }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const BlockScales&, size_t part) {
    const auto nibble = MoveBits<kChunk % 2 * 4, 0, 15>(LoadPart(block.nibbles + kChunk / 2 * 32, part));
    return hn::Or(nibble, MoveBits<kChunk, 4, 16>(LoadPart(block.high_bits, part)));
  }
};

struct Q6_KRows : HalfBlockScale<BlockQ6_K> {
  using Block = BlockQ6_K;
  static constexpr int kBits = 6, kGroup = 16, kOffset = 32;
  static constexpr bool kMins = false;
  static HWY_INLINE void Scales(const Block& block, BlockScales& to) {
    const DGroups d16;
    const auto both = hn::LoadU(d16, reinterpret_cast<const int16_t*>(block.group_scales));
    SetScales(to.scales, hn::ShiftRight<8>(hn::ShiftLeft<8>(both)), hn::ShiftRight<8>(both));
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const BlockScales&, size_t part) {
    constexpr int kHalf = kChunk / 4, kQuarter = kChunk % 4;
    const auto nibble =
        MoveBits<kQuarter / 2 * 4, 0, 15>(LoadPart(block.nibbles + kHalf * 64 + kQuarter % 2 * 32, part));
    return hn::Or(nibble, MoveBits<2 * kQuarter, 4, 48>(LoadPart(block.high_pairs + kHalf * 32, part)));
  }
};

struct Q3_KRows : HalfBlockScale<BlockQ3_K> {
  using Block = BlockQ3_K;
  static constexpr int kBits = 3, kGroup = 16, kOffset = 4;
  static constexpr bool kMins = false;
  static HWY_INLINE void Scales(const Block& block, BlockScales& to) {
    uint32_t a, b, top;  // the layout in quant/k_quants.h, four bytes at a time
    std::memcpy(&a, block.group_scales, 4);
    std::memcpy(&b, block.group_scales + 4, 4);
    std::memcpy(&top, block.group_scales + 8, 4);
    constexpr uint32_t kFour = 0x0f0f0f0f, kTwo = 0x03030303;
    const uint64_t low = ((a & kFour) | (top & kTwo) << 4) | uint64_t{(b & kFour) | (top >> 2 & kTwo) << 4} << 32;
    const uint64_t high =
        ((a >> 4 & kFour) | (top >> 4 & kTwo) << 4) | uint64_t{(b >> 4 & kFour) | (top >> 6 & kTwo) << 4} << 32;
    const DGroups d16;
    const hn::Repartition<uint64_t, DGroups> d64;
    const auto both = hn::BitCast(d16, hn::InterleaveLower(d64, hn::Set(d64, low), hn::Set(d64, high)));
    const auto middle = hn::Set(d16, 32);
    SetScales(to.scales, hn::Sub(hn::And(both, hn::Set(d16, 0xff)), middle), hn::Sub(hn::ShiftRight<8>(both), middle));
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const BlockScales&, size_t part) {
    const auto low = MoveBits<kChunk % 4 * 2, 0, 3>(LoadPart(block.low_pairs + kChunk / 4 * 32, part));
    return hn::Or(low, MoveBits<kChunk, 2, 4>(LoadPart(block.high_bits, part)));
  }
};

struct Q2_KRows : HalfBlockScale<BlockQ2_K> {
  using Block = BlockQ2_K;
  static constexpr int kBits = 2, kGroup = 16, kOffset = 0;
  static constexpr bool kMins = true;
  static HWY_INLINE void Scales(const Block& block, BlockScales& to) {
    const DGroups d16;
    const auto both = hn::LoadU(d16, reinterpret_cast<const int16_t*>(block.group_scales));
    const auto nibble = hn::Set(d16, 15);
    SetScales(to.scales, hn::And(both, nibble), hn::And(hn::ShiftRight<8>(both), nibble));
    SetScales(to.mins, hn::And(hn::ShiftRight<4>(both), nibble), hn::And(hn::ShiftRight<12>(both), nibble));
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const BlockScales&, size_t part) {
    return MoveBits<kChunk % 4 * 2, 0, 3>(LoadPart(block.quants + kChunk / 4 * 32, part));
  }
};

struct Iq4XsRows : HalfBlockScale<BlockIQ4_XS> {
  using Block = BlockIQ4_XS;
  static constexpr int kBits = 8, kGroup = 32, kOffset = 128;
  static constexpr bool kMins = false;
  static HWY_INLINE void Scales(const Block& block, BlockScales& to) {
    uint32_t nibbles;
    std::memcpy(&nibbles, block.scales_low, 4);
    uint64_t high = block.scales_high;  // spread so that pair g stands in byte g
    high = (high | high << 24) & 0x000000ff000000ff;
    high = (high | high << 12) & 0x000f000f000f000f;
    high = (high | high << 6) & 0x0303030303030303;
    const auto scales = hn::Sub(WidenEight(SpreadNibbles(nibbles) | high << 4), hn::Set(DGroups(), 32));
    SetScales(to.scales, scales, scales);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const BlockScales&, size_t part) {
    return hn::Xor(LookUp16(kIq4Values, Nibbles16(block.nibbles + kChunk * 16, part)), hn::Set(DBytes(), 0x80));
  }
};

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
