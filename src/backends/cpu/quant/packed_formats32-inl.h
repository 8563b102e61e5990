// What the kernels need to know of the formats with 32 weights per scale. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_FORMATS32_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_FORMATS32_INL_H
#undef WICK_BACKENDS_CPU_PACKED_FORMATS32_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_FORMATS32_INL_H
#endif

#include "backends/cpu/quant/packed_unpack-inl.h"
#include "quant/group_quants.h"
#include "quant/i8_channel.h"
#include "quant/i_quants.h"
#include "quant/legacy_quants.h"
#include "quant/mxfp4.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {

// How a weight follows from its byte b, an unsigned number of kBits bits.
enum class Shift {
  kOffset,  // scale * (b - kOffset)
  kZero,    // scale * (b - zero), an integer zero per block
  kMin,     // scale * b + min
};

#if WICK_PACKED_SIMD

// A format says, of the weight row that starts at `row` and its unit `unit` of 32 weights: Values (the bytes of one
// part), Scales (one f32 per row of a tile) and, unless it has an offset, Extras (the zeros or mins).

// Formats whose block is one unit with an f16 scale.
template <class BlockType, int kBitsOf, Shift kShiftOf, int kOffsetOf>
struct HalfScaleRows {
  using Block = BlockType;
  static constexpr int kBits = kBitsOf, kOffset = kOffsetOf;
  static constexpr Shift kShift = kShiftOf;

  static HWY_INLINE hn::Vec<DScales> Scales(const Block* const* rows, int64_t unit) {
    return HalvesOfTile([&](size_t i) HWY_ATTR { return rows[i][unit].scale; });
  }
  static HWY_INLINE hn::Vec<DScales> Extras(const Block* const* rows, int64_t unit) {
    if constexpr (kShift == Shift::kMin) {
      return HalvesOfTile([&](size_t i) HWY_ATTR { return rows[i][unit].min; });
    } else {
      return HalvesOfTile([&](size_t i) HWY_ATTR { return rows[i][unit].zero; });
    }
  }
};

template <class Block, Shift kShift, int kOffset>
struct FourBitRows : HalfScaleRows<Block, 4, kShift, kOffset> {
  static HWY_INLINE hn::Vec<DBytes> Values(const Block* row, int64_t unit, size_t part) {
    return Nibbles16(row[unit].nibbles, part);
  }
};
using Q4_0Rows = FourBitRows<BlockQ4_0, Shift::kOffset, 8>;
using Q4_1Rows = FourBitRows<BlockQ4_1, Shift::kMin, 0>;
using Group4Rows = FourBitRows<BlockGroup4, Shift::kZero, 0>;

template <class Block, Shift kShift, int kOffset>
struct FiveBitRows : HalfScaleRows<Block, 5, kShift, kOffset> {
  static HWY_INLINE hn::Vec<DBytes> Values(const Block* row, int64_t unit, size_t part) {
    return hn::Or(Nibbles16(row[unit].nibbles, part), BitsAs16(row[unit].high_bits, part));
  }
};
using Q5_0Rows = FiveBitRows<BlockQ5_0, Shift::kOffset, 16>;
using Q5_1Rows = FiveBitRows<BlockQ5_1, Shift::kMin, 0>;

struct Q8_0Rows : HalfScaleRows<BlockQ8_0, 8, Shift::kOffset, 128> {
  static HWY_INLINE hn::Vec<DBytes> Values(const Block* row, int64_t unit, size_t part) {
    return SignedBytes(row[unit].quants, part);
  }
};

struct Group8Rows : HalfScaleRows<BlockGroup8, 8, Shift::kZero, 0> {
  static HWY_INLINE hn::Vec<DBytes> Values(const Block* row, int64_t unit, size_t part) {
    return LoadPart(row[unit].quants, part);
  }
};

struct Iq4NlRows : HalfScaleRows<BlockIQ4_NL, 8, Shift::kOffset, 128> {
  static HWY_INLINE hn::Vec<DBytes> Values(const Block* row, int64_t unit, size_t part) {
    return hn::Xor(LookUp16(kIq4Values, Nibbles16(row[unit].nibbles, part)), hn::Set(DBytes(), 0x80));
  }
};

// Formats with another scale.

struct Mxfp4Rows {
  using Block = BlockMXFP4;
  static constexpr int kBits = 7, kOffset = 64;
  static constexpr Shift kShift = Shift::kOffset;
  static HWY_INLINE hn::Vec<DBytes> Values(const Block* row, int64_t unit, size_t part) {
    return hn::Add(LookUp16(kE2M1Doubled, Nibbles16(row[unit].nibbles, part)), hn::Set(DBytes(), kOffset));
  }
  static HWY_INLINE hn::Vec<DScales> Scales(const Block* const* rows, int64_t unit) {
    return FloatsOfTile([&](size_t i) HWY_ATTR { return E8M0Half(rows[i][unit].exponent); });
  }
};

struct I8ChannelRows {
  using Block = BlockI8Channel;  // two units
  static constexpr int kBits = 8, kOffset = 128;
  static constexpr Shift kShift = Shift::kOffset;
  static HWY_INLINE hn::Vec<DBytes> Values(const Block* row, int64_t unit, size_t part) {
    return SignedBytes(row[unit / 2].quants + unit % 2 * 32, part);
  }
  static HWY_INLINE hn::Vec<DScales> Scales(const Block* const* rows, int64_t unit) {
    return FloatsOfTile([&](size_t i) HWY_ATTR { return rows[i][unit / 2].scale; });
  }
};

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
