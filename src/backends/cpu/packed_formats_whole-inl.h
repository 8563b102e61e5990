// The formats with codebooks and the ternary ones, expanded to integers block by block. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_FORMATS_WHOLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_FORMATS_WHOLE_INL_H
#undef WICK_BACKENDS_CPU_PACKED_FORMATS_WHOLE_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_FORMATS_WHOLE_INL_H
#endif

#include "backends/cpu/packed_formats256-inl.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

template <class BlockType, int kGroupOf>
struct WholeRows {
  using Block = BlockType;
  static constexpr int kBits = 7, kGroup = kGroupOf, kOffset = 64;
  static constexpr bool kMins = false;
  struct State : BlockScales {
    WholeBlock whole;
  };

  static HWY_INLINE void Scales(const Block& block, State& to) {
    expand(block, to.whole);
    const DGroups d16;
    hn::Vec<DGroups> even, odd;  // scales of groups 0, 2, ... and 1, 3, ...
    hn::LoadInterleaved2(d16, to.whole.group_scales, even, odd);
    SetScales(to.scales, even, odd);
  }
  template <int kChunk>
  static HWY_INLINE hn::Vec<DBytes> Values(const Block&, const State& state, size_t part) {
    const auto codes = LoadPart(reinterpret_cast<const uint8_t*>(state.whole.codes + kChunk * 32), part);
    return hn::Add(codes, hn::Set(DBytes(), kOffset));
  }
  static HWY_INLINE hn::Vec<DScales> BlockScale(const Block* const* rows, int64_t block) {
    return FloatsOfTile([&](size_t i) HWY_ATTR { return whole_scale(rows[i][block]); });
  }
};

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
