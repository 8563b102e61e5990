// Unpacking 16 weight rows at once on AVX-512: the rows' bytes are turned into columns while they are still packed, so
// that each lane of a vector belongs to one row from then on. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_COLUMNS_INL_H
#undef WICK_BACKENDS_CPU_PACKED_COLUMNS_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_COLUMNS_INL_H
#endif

#include "backends/cpu/quant/packed_formats256-inl.h"
#include "backends/cpu/quant/packed_tiles-inl.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

// kPanel weight rows with their bytes interleaved, as in Panel32.
struct Panel256 {
  int32_t* values;   // [blocks * 64, kPanel], four bytes each
  int32_t* scales;   // [blocks * groups, kPanel]
  int32_t* mins;     // [blocks * 8, kPanel], two 16-bit numbers each: neighbours in BlockScales::mins; with an offset,
                     // the scales times the offset
  float* scale;      // [blocks, kPanel]
  float* min_scale;  // [blocks, kPanel]
};

// Whether a format's blocks are unpacked by Columns<Format>::Unpack(rows, block, panel).
template <class Format>
struct Columns {
  static constexpr bool kAvailable = false;
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
static_assert(kPanel == 16 && kPanelLanes == 16, "a lane per row");

using VColumn = hn::Vec<DPanelSums>;

HWY_INLINE VColumn Bytes(VColumn v, int32_t mask) { return hn::And(v, hn::Set(DPanelSums(), mask * 0x01010101)); }
HWY_INLINE void StoreColumn(VColumn v, int32_t* HWY_RESTRICT to) { hn::Store(v, DPanelSums(), to); }

// Lane i of columns[d] is 4-byte word d of the 16 bytes at `offset` of row i.
template <class Block>
HWY_INLINE void LoadColumns(const Block* const* HWY_RESTRICT rows, int64_t block, size_t offset,
                            VColumn* HWY_RESTRICT columns) {
  __m512i rows_of[4];  // rows i, 4 + i, 8 + i and 12 + i
  for (int i = 0; i < 4; ++i) {
    const auto load = [&](int row) WICK_PACKED_INLINE {
      return _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(reinterpret_cast<const uint8_t*>(rows[row] + block) + offset));
    };
    rows_of[i] = _mm512_castsi128_si512(load(i));
    rows_of[i] = _mm512_inserti32x4(rows_of[i], load(4 + i), 1);
    rows_of[i] = _mm512_inserti32x4(rows_of[i], load(8 + i), 2);
    rows_of[i] = _mm512_inserti32x4(rows_of[i], load(12 + i), 3);
  }
  const __m512i a = _mm512_unpacklo_epi32(rows_of[0], rows_of[1]), b = _mm512_unpacklo_epi32(rows_of[2], rows_of[3]);
  const __m512i c = _mm512_unpackhi_epi32(rows_of[0], rows_of[1]), d = _mm512_unpackhi_epi32(rows_of[2], rows_of[3]);
  columns[0] = VColumn{_mm512_unpacklo_epi64(a, b)};
  columns[1] = VColumn{_mm512_unpackhi_epi64(a, b)};
  columns[2] = VColumn{_mm512_unpacklo_epi64(c, d)};
  columns[3] = VColumn{_mm512_unpackhi_epi64(c, d)};
}

// The low 16 bits of each lane as f16.
HWY_INLINE void StoreHalves(VColumn v, float* HWY_RESTRICT to) {
  hn::Store(hn::Vec<DPanelScales>{_mm512_cvtph_ps(_mm512_cvtepi32_epi16(v.raw))}, DPanelScales(), to);
}

// Byte kByte of each lane.
template <int kByte>
HWY_INLINE VColumn ByteOf(VColumn v) {
  return hn::And(hn::ShiftRight<8 * kByte>(v), hn::Set(DPanelSums(), 0xff));
}

// The first 16 bytes of Q4_K and Q5_K: two f16 scales, then eight scales and mins of 6 bits (quant/group_quants.h).
template <class Block>
HWY_INLINE void UnpackSixBits(const Block* const* HWY_RESTRICT rows, int64_t block, const Panel256& panel) {
  VColumn head[4];
  LoadColumns(rows, block, 0, head);
  StoreHalves(head[0], panel.scale + block * kPanel);
  StoreHalves(hn::ShiftRight<16>(head[0]), panel.min_scale + block * kPanel);
  const auto six = [&](VColumn low, VColumn high, VColumn* to) WICK_PACKED_INLINE {
    to[0] = Bytes(low, 0x3f);
    to[1] = hn::Or(Bytes(high, 0x0f), Bytes(hn::ShiftRight<2>(low), 0x30));
  };
  VColumn scales[2], mins[2];  // four bytes each
  six(head[1], head[3], scales);
  six(head[2], hn::ShiftRight<4>(head[3]), mins);
  int32_t* scales_at = panel.scales + block * 8 * kPanel;
  int32_t* mins_at = panel.mins + block * 8 * kPanel;
  for (int64_t half = 0; half < 2; ++half) {
    const VColumn s = scales[half], m = mins[half];
    Unroll<4>([&](auto byte)
                  WICK_PACKED_INLINE { StoreColumn(ByteOf<byte()>(s), scales_at + (half * 4 + byte()) * kPanel); });
    const VColumn first = hn::Or(ByteOf<0>(m), hn::ShiftLeft<16>(ByteOf<1>(m)));
    const VColumn second = hn::Or(ByteOf<2>(m), hn::ShiftLeft<16>(ByteOf<3>(m)));
    for (const int64_t again : {0, 4}) {  // once for each half of the groups of 32
      StoreColumn(first, mins_at + (again + 2 * half) * kPanel);
      StoreColumn(second, mins_at + (again + 2 * half + 1) * kPanel);
    }
  }
}

template <>
struct Columns<Q4_KRows> {
  static constexpr bool kAvailable = true;
  static HWY_INLINE void Unpack(const BlockQ4_K* const* HWY_RESTRICT rows, int64_t block, const Panel256& panel) {
    UnpackSixBits(rows, block, panel);
    int32_t* values = panel.values + block * 64 * kPanel;
    for (int64_t part = 0; part < 8; ++part) {  // 16 bytes: half of two chunks
      VColumn columns[4];
      LoadColumns(rows, block, offsetof(BlockQ4_K, nibbles) + part * 16, columns);
      int32_t* to = values + (part / 2 * 16 + part % 2 * 4) * kPanel;
      for (int64_t d = 0; d < 4; ++d) {
        StoreColumn(Bytes(columns[d], 0x0f), to + d * kPanel);
        StoreColumn(Bytes(hn::ShiftRight<4>(columns[d]), 0x0f), to + (8 + d) * kPanel);
      }
    }
  }
};

template <>
struct Columns<Q5_KRows> {
  static constexpr bool kAvailable = true;
  static HWY_INLINE void Unpack(const BlockQ5_K* const* HWY_RESTRICT rows, int64_t block, const Panel256& panel) {
    UnpackSixBits(rows, block, panel);
    int32_t* values = panel.values + block * 64 * kPanel;
    for (int64_t side = 0; side < 2; ++side) {
      VColumn high[4];
      LoadColumns(rows, block, offsetof(BlockQ5_K, high_bits) + side * 16, high);
      Unroll<4>([&](auto pair) WICK_PACKED_INLINE {
        VColumn columns[4];
        LoadColumns(rows, block, offsetof(BlockQ5_K, nibbles) + pair() * 32 + side * 16, columns);
        int32_t* to = values + (pair() * 16 + side * 4) * kPanel;
        for (int64_t d = 0; d < 4; ++d) {
          const VColumn even = Bytes(hn::ShiftLeft<4>(hn::ShiftRight<2 * pair()>(high[d])), 0x10);
          const VColumn odd = Bytes(hn::ShiftLeft<4>(hn::ShiftRight<2 * pair() + 1>(high[d])), 0x10);
          StoreColumn(hn::Or(Bytes(columns[d], 0x0f), even), to + d * kPanel);
          StoreColumn(hn::Or(Bytes(hn::ShiftRight<4>(columns[d]), 0x0f), odd), to + (8 + d) * kPanel);
        }
      });
    }
  }
};

#endif  // AVX-512
#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
