// The formats with codebooks, and the ternary ones. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_FORMATS_CODEBOOK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_FORMATS_CODEBOOK_INL_H
#undef WICK_BACKENDS_CPU_PACKED_FORMATS_CODEBOOK_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_FORMATS_CODEBOOK_INL_H
#endif

#include "backends/cpu/quant/packed_formats256-inl.h"
#include "quant/codebooks.h"
#include "quant/i_quants.h"
#include "quant/ternary_quants.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

// All codes are signed and small; the kernels see code + 64. The scales inside are odd numbers 2 s + 1.
template <class BlockType, int kGroupOf>
struct CodebookRows {
  using Block = BlockType;
  using State = BlockScales;
  static constexpr int kBits = 7, kGroup = kGroupOf, kOffset = 64;
  static constexpr bool kMins = false;
  static HWY_INLINE hn::Vec<DScales> BlockScale(const Block* const* rows, int64_t block) {
    return FloatsOfTile([&](size_t i) HWY_ATTR { return whole_scale(rows[i][block]); });
  }
};

// One part of 32 bytes given as four words.
HWY_INLINE hn::Vec<DBytes> Words(uint64_t a, uint64_t b, uint64_t c, uint64_t d, size_t part) {
  const hn::CappedTag<uint64_t, 2> d64;
  const hn::Repartition<uint8_t, decltype(d64)> d8;
  const auto first = hn::BitCast(d8, hn::InterleaveLower(d64, hn::Set(d64, a), hn::Set(d64, b)));
  const auto second = hn::BitCast(d8, hn::InterleaveLower(d64, hn::Set(d64, c), hn::Set(d64, d)));
  return PickPart(first, second, part);
}

// 64 - byte where a sign bit is set, else 64 + byte.
HWY_INLINE hn::Vec<DBytes> WithSigns(hn::Vec<DBytes> magnitudes, uint64_t signs, size_t part) {
  const DBytes d8;
  uint8_t bits[16] = {};
  std::memcpy(bits, &signs, sizeof(signs));
  const auto middle = hn::Set(d8, 64);
  return hn::IfThenElse(hn::LoadMaskBits(d8, bits + part * kByteLanes / 8), hn::Sub(middle, magnitudes),
                        hn::Add(middle, magnitudes));
}

// Four times seven stored signs as 32.
HWY_INLINE uint32_t SignsOfFour(uint32_t packed) {
  uint32_t signs = 0;
  for (int run = 0; run < 4; ++run) {
    const uint32_t seven = packed >> 7 * run & 127;
    signs |= uint32_t{kEightSigns[seven]} << 8 * run;
  }
  return signs;
}

// Eight scales s, one a byte, as 2 s + 1.
HWY_INLINE hn::Vec<DGroups> OddScales(uint64_t bytes) {
  const auto v = WidenEight(bytes);
  return hn::Add(hn::Add(v, v), hn::Set(DGroups(), 1));
}

// Scales in the top four bits of the second word of each group of 32.
template <class Load>
HWY_INLINE void TopNibbleScales(const Load& word, BlockScales& to) {
  uint64_t bytes = 0;
  for (int group = 0; group < 8; ++group) bytes |= uint64_t{word(group) >> 28} << 8 * group;
  const auto scales = OddScales(bytes);
  SetScales(to.scales, scales, scales);
}

// Two scales of 16 weights in a byte.
HWY_INLINE void NibblePairScales(const uint8_t* HWY_RESTRICT packed, BlockScales& to) {
  uint64_t bytes;
  std::memcpy(&bytes, packed, sizeof(bytes));
  constexpr uint64_t kFour = 0x0f0f0f0f0f0f0f0f;
  SetScales(to.scales, OddScales(bytes & kFour), OddScales(bytes >> 4 & kFour));
}

template <class T>
HWY_INLINE T LoadWord(const void* from) {
  T word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

struct Iq2XxsRows : CodebookRows<BlockIQ2_XXS, 32> {
  static HWY_INLINE void Scales(const Block& block, State& to) {
    TopNibbleScales([&](int group) { return LoadWord<uint32_t>(block.codes + group * 4 + 2); }, to);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    const auto index = LoadWord<uint32_t>(block.codes + kChunk * 4);
    const auto signs = SignsOfFour(LoadWord<uint32_t>(block.codes + kChunk * 4 + 2));
    return WithSigns(Words(kIq2xxsGrid[index & 255], kIq2xxsGrid[index >> 8 & 255], kIq2xxsGrid[index >> 16 & 255],
                           kIq2xxsGrid[index >> 24], part),
                     signs, part);
  }
};

struct Iq2XsRows : CodebookRows<BlockIQ2_XS, 16> {
  static HWY_INLINE void Scales(const Block& block, State& to) { NibblePairScales(block.group_scales, to); }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    const uint16_t* codes = block.codes + kChunk * 4;
    uint32_t signs = 0;
    for (int run = 0; run < 4; ++run) signs |= uint32_t{kEightSigns[codes[run] >> 9]} << 8 * run;
    return WithSigns(Words(kIq2xsGrid[codes[0] & 511], kIq2xsGrid[codes[1] & 511], kIq2xsGrid[codes[2] & 511],
                           kIq2xsGrid[codes[3] & 511], part),
                     signs, part);
  }
};

struct Iq2SRows : CodebookRows<BlockIQ2_S, 16> {
  static HWY_INLINE void Scales(const Block& block, State& to) { NibblePairScales(block.group_scales, to); }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    const uint8_t* low = block.index_low + kChunk * 4;
    const uint32_t high = block.index_high[kChunk];
    return WithSigns(Words(kIq2sGrid[low[0] | (high & 3) << 8], kIq2sGrid[low[1] | (high >> 2 & 3) << 8],
                           kIq2sGrid[low[2] | (high >> 4 & 3) << 8], kIq2sGrid[low[3] | (high >> 6) << 8], part),
                     LoadWord<uint32_t>(block.signs + kChunk * 4), part);
  }
};

struct Iq3XxsRows : CodebookRows<BlockIQ3_XXS, 32> {
  static HWY_INLINE void Scales(const Block& block, State& to) {
    TopNibbleScales([&](int group) { return LoadWord<uint32_t>(block.signs_and_scales + group * 4); }, to);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    const uint8_t* index = block.index + kChunk * 8;
    uint64_t words[4];
    for (int i = 0; i < 4; ++i) {
      words[i] = kIq3xxsGrid[index[2 * i]] | uint64_t{kIq3xxsGrid[index[2 * i + 1]]} << 32;
    }
    const auto signs = SignsOfFour(LoadWord<uint32_t>(block.signs_and_scales + kChunk * 4));
    return WithSigns(Words(words[0], words[1], words[2], words[3], part), signs, part);
  }
};

struct Iq3SRows : CodebookRows<BlockIQ3_S, 32> {
  static HWY_INLINE void Scales(const Block& block, State& to) {
    const auto scales = OddScales(SpreadNibbles(LoadWord<uint32_t>(block.group_scales)));
    SetScales(to.scales, scales, scales);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    const uint8_t* low = block.index_low + kChunk * 8;
    const uint32_t high = block.index_high[kChunk];
    uint64_t words[4];
    for (int i = 0; i < 4; ++i) {
      words[i] = kIq3sGrid[low[2 * i] | (high >> 2 * i & 1) << 8] |
                 uint64_t{kIq3sGrid[low[2 * i + 1] | (high >> (2 * i + 1) & 1) << 8]} << 32;
    }
    return WithSigns(Words(words[0], words[1], words[2], words[3], part), LoadWord<uint32_t>(block.signs + kChunk * 4),
                     part);
  }
};

// Eight times the ternary codes, plus `shifts`: 64 +- 1.
HWY_INLINE hn::Vec<DBytes> Eighths(hn::Vec<DBytes> ternary, hn::Vec<DBytes> shifts) {
  return hn::Add(MoveBits<0, 3, 0xf8>(ternary), shifts);
}

struct Iq1SRows : CodebookRows<BlockIQ1_S, 32> {
  static HWY_INLINE void Scales(const Block& block, State& to) {
    const DGroups d16;
    const auto words = hn::LoadU(d16, reinterpret_cast<const int16_t*>(block.index_high));
    const auto scales = hn::Or(hn::And(hn::ShiftRight<11>(words), hn::Set(d16, 14)), hn::Set(d16, 1));
    SetScales(to.scales, scales, scales);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    const uint8_t* low = block.index_low + kChunk * 4;
    const uint32_t high = block.index_high[kChunk];
    const auto ternary = Words(kIq1Grid[low[0] | (high & 7) << 8], kIq1Grid[low[1] | (high >> 3 & 7) << 8],
                               kIq1Grid[low[2] | (high >> 6 & 7) << 8], kIq1Grid[low[3] | (high >> 9 & 7) << 8], part);
    return Eighths(ternary, hn::Set(DBytes(), high & 0x8000 ? kOffset - 1 : kOffset + 1));
  }
};

struct Iq1MRows : CodebookRows<BlockIQ1_M, 16> {
  static HWY_INLINE void Scales(const Block& block, State& to) {
    uint64_t even = 0, odd = 0;  // of groups 0, 2, ... and 1, 3, ...
    for (int i = 0; i < 4; ++i) {
      const uint32_t word = LoadWord<uint16_t>(block.scales + 2 * i);
      even |= uint64_t{(word & 7) | (word >> 6 & 7) << 8} << 16 * i;
      odd |= uint64_t{(word >> 3 & 7) | (word >> 9 & 7) << 8} << 16 * i;
    }
    SetScales(to.scales, OddScales(even), OddScales(odd));
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    const uint8_t* low = block.index_low + kChunk * 4;
    const uint32_t high = LoadWord<uint16_t>(block.index_high + kChunk * 2);
    constexpr uint64_t kOnes = 0x0101010101010101, kUp = kOnes * (kOffset + 1);
    uint64_t codes[4], shifts[4];
    for (int run = 0; run < 4; ++run) {
      codes[run] = kIq1Grid[low[run] | (high >> 4 * run & 7) << 8];
      shifts[run] = kUp - 2 * kOnes * (high >> (4 * run + 3) & 1);
    }
    return Eighths(Words(codes[0], codes[1], codes[2], codes[3], part),
                   Words(shifts[0], shifts[1], shifts[2], shifts[3], part));
  }
};

struct Tq2Rows : CodebookRows<BlockTQ2_0, 32> {
  static constexpr int kBits = 2, kOffset = 1;
  static HWY_INLINE void Scales(const Block&, State& to) {
    const auto one = hn::Set(DGroups(), 1);
    SetScales(to.scales, one, one);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block& block, const State&, size_t part) {
    return MoveBits<kChunk % 4 * 2, 0, 3>(LoadPart(block.pairs + kChunk / 4 * 32, part));
  }
};

// Base 3 is expanded a whole block at a time.
struct Tq1Rows : CodebookRows<BlockTQ1_0, 32> {
  struct State : BlockScales {
    HWY_INLINE State() {}  // NOLINT(modernize-use-equals-default)
    WholeBlock whole;
  };
  static HWY_INLINE void Scales(const Block& block, State& to) {
    expand(block, to.whole);
    const auto one = hn::Set(DGroups(), 1);
    SetScales(to.scales, one, one);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block&, const State& state, size_t part) {
    const auto codes = LoadPart(reinterpret_cast<const uint8_t*>(state.whole.codes + kChunk * 32), part);
    return hn::Add(codes, hn::Set(DBytes(), kOffset));
  }
};

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
