// What the kernels need to know of the formats with 256 weights per block. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H
#undef WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_FORMATS256_INL_H
#endif

#include "backends/cpu/packed_unpack-inl.h"
#include "quant/group_scales.h"
#include "quant/iq4_xs.h"
#include "quant/iq4_nl.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_k.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

// The integer scales of a block, one per 16 weights (groups of 32 give each twice).
struct BlockScales {
  alignas(32) int16_t scales[16];
  alignas(32) int16_t mins[16];
};

// A format says how weight i of a block follows from its byte b, an unsigned number of kBits bits, and its scales:
//   kMins:  scale * scales[i / 16] * b - min_scale * mins[i / 16]
//   else    scale * scales[i / 16] * (b - kOffset)
// kGroup is 16 or 32. Values<chunk> gives the bytes of weights 32 chunk onwards.

// One f32 per row of a tile: the scale of block `block`, stored as f16.
template <class Block>
struct HalfBlockScale {
  static HWY_INLINE hn::Vec<DScales> BlockScale(const Block* const* rows, int64_t block) {
    return HalvesOfTile([&](size_t i) HWY_ATTR { return rows[i][block].scale; });
  }
};

// Eight bytes, each twice, as 16-bit numbers.
HWY_INLINE void StoreTwice(uint64_t bytes, int16_t* HWY_RESTRICT to) {
  const hn::CappedTag<int32_t, 8> d32;
  const hn::Rebind<uint8_t, decltype(d32)> d8;
  const hn::Repartition<int16_t, decltype(d32)> d16;
  uint8_t from[8];
  std::memcpy(from, &bytes, 8);
  for (size_t i = 0; i < 8; i += hn::Lanes(d32)) {
    const auto v = hn::PromoteTo(d32, hn::LoadU(d8, from + i));
    hn::Store(hn::BitCast(d16, hn::Or(v, hn::ShiftLeft<16>(v))), d16, to + 2 * i);
  }
}

// The scales and mins of Q4_K and Q5_K: the layout in quant/group_scales.h, four bytes at a time.
HWY_INLINE void SixBitScales(const uint8_t* HWY_RESTRICT packed, BlockScales& to) {
  uint32_t a, b, c;
  std::memcpy(&a, packed, 4);
  std::memcpy(&b, packed + 4, 4);
  std::memcpy(&c, packed + 8, 4);
  constexpr uint32_t kSix = 0x3f3f3f3f, kFour = 0x0f0f0f0f, kTop = 0x30303030;
  const uint32_t scales_high = (c & kFour) | (a >> 2 & kTop), mins_high = (c >> 4 & kFour) | (b >> 2 & kTop);
  StoreTwice((a & kSix) | uint64_t{scales_high} << 32, to.scales);
  StoreTwice((b & kSix) | uint64_t{mins_high} << 32, to.mins);
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
    const hn::CappedTag<int16_t, 16> d16;
    const hn::Rebind<int8_t, decltype(d16)> d8;
    for (size_t i = 0; i < 16; i += hn::Lanes(d16)) {
      hn::Store(hn::PromoteTo(d16, hn::LoadU(d8, block.group_scales + i)), d16, to.scales + i);
    }
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
    uint8_t scales[16];
    unpack_q3_k_scales(block.group_scales, scales);
    for (int i = 0; i < 16; ++i) to.scales[i] = static_cast<int16_t>(scales[i] - 32);
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
    for (int i = 0; i < 16; ++i) {
      to.scales[i] = block.group_scales[i] & 15;
      to.mins[i] = block.group_scales[i] >> 4;
    }
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
    for (int g = 0; g < 8; ++g) {
      const int low = block.scales_low[g / 2] >> g % 2 * 4 & 15, high = block.scales_high >> 2 * g & 3;
      to.scales[2 * g] = to.scales[2 * g + 1] = static_cast<int16_t>((low | high << 4) - 32);
    }
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
