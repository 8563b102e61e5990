// What the kernels for packed weights share: rows of a tile, stores of results. Included once per target.
#if defined(WICK_BACKENDS_CPU_PACKED_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_TILES_INL_H
#undef WICK_BACKENDS_CPU_PACKED_TILES_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_TILES_INL_H
#endif

#include <algorithm>

#include "backends/cpu/quant/packed_plan.h"
#include "backends/cpu/quant/packed_unpack-inl.h"
#include "backends/cpu/scratch.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

using cpu::kPanel;
using cpu::PackedActivations;
using cpu::PackedJob;

// The panel kernel computes kPanel columns in kPanelVectors vectors, for kPanelRows rows at a time.
using DPanelBytes = hn::CappedTag<uint8_t, 4 * kPanel>;
using DPanelSums = hn::Repartition<int32_t, DPanelBytes>;
using DPanelScales = hn::Repartition<float, DPanelBytes>;
inline constexpr size_t kPanelLanes = hn::MaxLanes(DPanelSums());
inline constexpr size_t kPanelVectors = kPanel / kPanelLanes;
inline constexpr int64_t kPanelRows = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86 ? 8 : 4;

// Rows of activations that share one reading of the weights when there are few.
inline constexpr int64_t kFewRows = 4;

// The weight rows of a tile; past the end of the matrix the last row stands in and its result is dropped.
template <class Block>
struct TileRows {
  const Block* row[kTile];

  TileRows(const PackedJob& job, int64_t first, int64_t end) {
    for (size_t i = 0; i < kTile; ++i) {
      const int64_t at = std::min(first + static_cast<int64_t>(i), end - 1);
      row[i] = reinterpret_cast<const Block*>(job.w + at * job.row_bytes);
    }
  }
};

// Asks for the weights of later rows while `rows` of them are computed, beginning with `row`: far enough ahead that
// memory has time to answer. Rows lie one behind the other, but are read side by side, which the CPU's own prefetching
// does not follow well.
template <class Block>
HWY_INLINE void Prefetch(const PackedJob& job, const Block* row, int64_t rows, int64_t block) {
  constexpr int64_t kAhead = 16 << 10;
  const int64_t step = rows * static_cast<int64_t>(sizeof(Block)), all = rows * job.row_bytes;
  const auto* next = reinterpret_cast<const char*>(row) + (kAhead + all - 1) / all * all + block * step;
  for (int64_t i = 0; i < step; i += 64) __builtin_prefetch(next + i, 0, 2);
}

// Writes `count` results of one row from `values`.
inline void StoreResults(const PackedJob& job, int64_t row, int64_t column, const float* values, int64_t count) {
  const int64_t at = row * job.n + column;
  switch (job.out_type) {
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) reinterpret_cast<Half*>(job.out)[at + i] = Half(values[i]);
      break;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) reinterpret_cast<BFloat16*>(job.out)[at + i] = BFloat16(values[i]);
      break;
    default: std::copy_n(values, count, reinterpret_cast<float*>(job.out) + at);
  }
}

// Stores kTile vectors of 4-byte groups, one per weight row, as columns of a panel: group g of row i goes to
// values[g * kPanel + i] (in units of 4 bytes).
HWY_INLINE void StoreGroups(hn::Vec<DSums>* HWY_RESTRICT groups, int32_t* HWY_RESTRICT values) {
  const DSums d32;
  TransposeSquare(d32, groups);
  for (size_t g = 0; g < kTile; ++g) hn::StoreU(groups[g], d32, values + g * kPanel);
}

// Four neighbouring activations, for every lane.
HWY_INLINE hn::Vec<DPanelBytes> BroadcastFour(const int8_t* HWY_RESTRICT q) {
  int32_t four;
  std::memcpy(&four, q, sizeof(four));
  return hn::BitCast(DPanelBytes(), hn::Set(DPanelSums(), four));
}

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
