// Register tiles of paged attention: scores of a tile of keys, a step of the running softmax, the mix of its values.
// Included once per target.
#if defined(WICK_BACKENDS_CPU_PAGED_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PAGED_TILE_INL_H
#undef WICK_BACKENDS_CPU_PAGED_TILE_INL_H
#else
#define WICK_BACKENDS_CPU_PAGED_TILE_INL_H
#endif

#include <limits>

#include "backends/cpu/math-inl.h"
#include "backends/cpu/matmul_pack-inl.h"
#include "backends/cpu/paged_plan.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

inline constexpr int64_t kPagedPanelRows = 6;
inline constexpr int64_t kPagedLanes = kLanesOf<hn::ScalableTag<float>>;
static_assert(kKvBlockTokens % kPagedLanes == 0);

// The blocks of a tile. Where the rows at hand see no key of a block, another block stands in for it.
template <typename T>
struct TileBlocks {
  const T* at[cpu::kPagedTileBlocks];
  const T* key(int64_t key) const { return at[key / kKvBlockTokens] + key % kKvBlockTokens; }
};

// Vectors per row in a register tile: many rows leave room for few, a lone row needs many to hide the wait for sums.
template <int kRows>
inline constexpr int kTileVectorsFor = WICK_MANY_REGISTERS ? (kRows <= 3 ? 8 : 4)
                                                           : (kRows == 1 ? 8 : (kRows <= 3 ? 4 : 2));

// query [dim][kRows] x keys [dim][16] per block -> scores [kRows][kPagedTileKeys], summed in order of dim.
template <int kRows, typename T>
HWY_INLINE void ScoreKeys(const float* HWY_RESTRICT query, const TileBlocks<T>& keys, int64_t dim,
                          float* HWY_RESTRICT scores) {
  const hn::ScalableTag<float> d;
  constexpr int kVectors =
      static_cast<int>(std::min<int64_t>(kTileVectorsFor<kRows>, cpu::kPagedTileKeys / kPagedLanes));
  for (int64_t key = 0; key < cpu::kPagedTileKeys; key += kVectors * kPagedLanes) {
    const T* at[kVectors];
    hn::Vec<decltype(d)> acc[kRows][kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      at[j] = keys.key(key + j * kPagedLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) acc[i][j] = hn::Zero(d);
    }
    const float* q = query;
    for (int64_t k = 0; k < dim; ++k, q += kRows) {
      hn::Vec<decltype(d)> right[kVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) right[j] = LoadAs(d, at[j] + k * kKvBlockTokens);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const auto left = hn::Set(d, q[i]);
#pragma GCC unroll 8
        for (int j = 0; j < kVectors; ++j) acc[i][j] = hn::MulAdd(left, right[j], acc[i][j]);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) {
        hn::StoreU(acc[i][j], d, scores + i * cpu::kPagedTileKeys + key + j * kPagedLanes);
      }
    }
  }
}

// sums = sums * keep + weights [kRows][first to end of the tile's keys] x values, kVectors vectors of columns.
template <int kRows, int kVectors, typename T>
HWY_INLINE void MixColumns(const float* HWY_RESTRICT weights, const TileBlocks<T>& values, int64_t value_stride,
                           int64_t column, int64_t first, int64_t end, const float* HWY_RESTRICT keep,
                           int64_t sum_stride, float* HWY_RESTRICT sums) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> acc[kRows][kVectors];
  sums += column;
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      acc[i][j] = hn::Mul(hn::LoadU(d, sums + i * sum_stride + j * kPagedLanes), hn::Set(d, keep[i]));
    }
  }
  for (int64_t key = first; key < end;) {
    const int64_t stop = std::min(end, key / kKvBlockTokens * kKvBlockTokens + kKvBlockTokens);
    const T* HWY_RESTRICT from = values.at[key / kKvBlockTokens] + key % kKvBlockTokens * value_stride + column;
    for (; key < stop; ++key, from += value_stride) {
      hn::Vec<decltype(d)> right[kVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) right[j] = LoadAs(d, from + j * kPagedLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const auto left = hn::Set(d, weights[i * cpu::kPagedTileKeys + key]);
#pragma GCC unroll 8
        for (int j = 0; j < kVectors; ++j) acc[i][j] = hn::MulAdd(left, right[j], acc[i][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) hn::StoreU(acc[i][j], d, sums + i * sum_stride + j * kPagedLanes);
  }
}

template <int kRows, typename T>
HWY_INLINE void MixValues(const float* HWY_RESTRICT weights, const TileBlocks<T>& values, int64_t value_stride,
                          int64_t columns, int64_t first, int64_t end, const float* HWY_RESTRICT keep,
                          int64_t sum_stride, float* HWY_RESTRICT sums) {
  constexpr int kVectors = kTileVectorsFor<kRows>;
  int64_t j = 0;
  for (; j + kVectors * kPagedLanes <= columns; j += kVectors * kPagedLanes) {
    MixColumns<kRows, kVectors>(weights, values, value_stride, j, first, end, keep, sum_stride, sums);
  }
  if constexpr (kVectors > 2) {
    for (; j + kVectors / 2 * kPagedLanes <= columns; j += kVectors / 2 * kPagedLanes) {
      MixColumns<kRows, kVectors / 2>(weights, values, value_stride, j, first, end, keep, sum_stride, sums);
    }
  }
  for (; j < columns; j += kPagedLanes) {
    MixColumns<kRows, 1>(weights, values, value_stride, j, first, end, keep, sum_stride, sums);
  }
}

#undef WICK_PANEL
#define WICK_PANEL(rows, call) \
  switch (rows) {              \
    case 1: return call(1);    \
    case 2: return call(2);    \
    case 3: return call(3);    \
    case 4: return call(4);    \
    case 5: return call(5);    \
    case 6: return call(6);    \
  }

template <typename T>
void ScorePanel(int64_t rows, const float* query, const TileBlocks<T>& keys, int64_t dim, float* scores) {
#define WICK_CALL(n) ScoreKeys<n>(query, keys, dim, scores)
  WICK_PANEL(rows, WICK_CALL)
#undef WICK_CALL
}

template <typename T>
void MixPanel(int64_t rows, const float* weights, const TileBlocks<T>& values, int64_t value_stride, int64_t columns,
              int64_t first, int64_t end, const float* keep, int64_t sum_stride, float* sums) {
#define WICK_CALL(n) MixValues<n>(weights, values, value_stride, columns, first, end, keep, sum_stride, sums)
  WICK_PANEL(rows, WICK_CALL)
#undef WICK_CALL
}

// How scores of one row become weights; key_scale and value_scale are null unless the pool is i8.
struct ScoreRules {
  float soft_cap = 0, slope = 0;  // 0: none
  const TileBlocks<float>*key_scale = nullptr, *value_scale = nullptr;
};

// Scores `first` to `end` of a tile become weights relative to the largest score so far (`most`) and are added to
// `total`; the others stay or become anything. `distance` is the position of the tile's first key less the row's.
// Returns what earlier sums must be multiplied by.
HWY_INLINE float SoftmaxKeys(float* HWY_RESTRICT scores, int64_t first, int64_t end, const ScoreRules& rules,
                             int64_t distance, float& most, float& total) {
  const hn::ScalableTag<float> d;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const int64_t begin = first / kPagedLanes * kPagedLanes;
  auto largest = hn::Set(d, most);
  for (int64_t j = begin; j < end; j += kPagedLanes) {
    auto s = hn::LoadU(d, scores + j);
    if (rules.key_scale) s = hn::Mul(s, hn::LoadU(d, rules.key_scale->key(j)));
    if (rules.soft_cap != 0) {
      s = hn::Mul(TanhF32(d, hn::Div(s, hn::Set(d, rules.soft_cap))), hn::Set(d, rules.soft_cap));
    }
    if (rules.slope != 0) {
      s = hn::MulAdd(hn::Set(d, rules.slope), hn::Iota(d, static_cast<float>(distance + j)), s);
    }
    if (j + kPagedLanes > end) {
      s = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(end - j)), s, hn::Set(d, kHidden));
    }
    if (j < first) s = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(first - j)), hn::Set(d, kHidden), s);
    hn::StoreU(s, d, scores + j);
    largest = hn::Max(s, largest);
  }
  const float before = most;
  most = LargestLane(d, largest);
  const float base = most == kHidden ? 0.0f : most;  // -inf - -inf would be NaN
  auto sum = hn::Zero(d);
  for (int64_t j = begin; j < end; j += kPagedLanes) {
    const auto p = ExpNegative(d, hn::Sub(hn::LoadU(d, scores + j), hn::Set(d, base)));
    sum = hn::Add(sum, p);
    hn::StoreU(rules.value_scale ? hn::Mul(p, hn::LoadU(d, rules.value_scale->key(j))) : p, d, scores + j);
  }
  const float keep = before == most ? 1.0f : hn::GetLane(ExpNegative(d, hn::Set(d, before - base)));
  total = total * keep + hn::GetLane(hn::SumOfLanes(d, sum));
  return keep;
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
