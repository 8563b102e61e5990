// Register tiles of paged attention: scores of a tile of keys, a step of the running softmax, the mix of its values.
// Included once per target.
#if defined(WICK_BACKENDS_CPU_PAGED_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PAGED_TILE_INL_H
#undef WICK_BACKENDS_CPU_PAGED_TILE_INL_H
#else
#define WICK_BACKENDS_CPU_PAGED_TILE_INL_H
#endif

#include <limits>

#include "backends/cpu/attention/paged_plan.h"
#include "backends/cpu/basic/row_switch.h"
#include "backends/cpu/gemm/matmul_pack-inl.h"
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

using cpu::kPagedPanelRows;
inline constexpr int64_t kPagedLanes = kLanesOf<hn::ScalableTag<float>>;
static_assert(kKvBlockTokens % kPagedLanes == 0);

// Asks for a line in the second-level cache, which waits for more lines at a time than the first does.
HWY_INLINE void PrefetchFar(const void* line) { __builtin_prefetch(line, 0, 2); }

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

// What is read next, in bytes per block: it is asked for on the way, since blocks lie apart and the processor cannot
// guess where. Nothing if `bytes` is 0.
struct TileAhead {
  const std::byte* at[cpu::kPagedTileBlocks] = {};
  int64_t bytes = 0;
};

// query [dim][kRows] x keys [dim][16] per block -> scores [kRows][kPagedTileKeys] of at least the first `count` keys,
// summed in order of dim.
template <int kRows, int kVectors, bool kAhead, typename T>
HWY_INLINE void ScoreKeys(const float* HWY_RESTRICT query, const TileBlocks<T>& keys, const TileAhead& ahead,
                          int64_t dim, int64_t count, float* HWY_RESTRICT scores) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kPerLine = 64 / (sizeof(T) * kKvBlockTokens);  // components per cache line
  for (int64_t key = 0; key < count; key += kVectors * kPagedLanes) {
    const T* at[kVectors];
    hn::Vec<decltype(d)> acc[kRows][kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      at[j] = keys.key(key + j * kPagedLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) acc[i][j] = hn::Zero(d);
    }
    const float* q = query;
    for (int64_t k = 0; k < dim;) {
      const int64_t line = k * kKvBlockTokens * static_cast<int64_t>(sizeof(T));
      if (kAhead && line < ahead.bytes) {
        for (int64_t b = key / kKvBlockTokens; b * kKvBlockTokens < key + kVectors * kPagedLanes; ++b) {
          PrefetchFar(ahead.at[b] + line);
        }
      }
      for (const int64_t stop = kAhead ? std::min(dim, k + kPerLine) : dim; k < stop; ++k, q += kRows) {
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
                           int64_t sum_stride, float* HWY_RESTRICT sums, const TileAhead& ahead) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> acc[kRows][kVectors];
  const int64_t ahead_bytes = ahead.bytes / kKvBlockTokens;
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
      if (column == 0) {
        const std::byte* next = ahead.at[key / kKvBlockTokens] + key % kKvBlockTokens * ahead_bytes;
        for (int64_t line = 0; line < ahead_bytes; line += 64) PrefetchFar(next + line);
      }
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
                          int64_t sum_stride, float* HWY_RESTRICT sums, const TileAhead& ahead) {
  constexpr int kVectors = kTileVectorsFor<kRows>;
  int64_t j = 0;
  for (; j + kVectors * kPagedLanes <= columns; j += kVectors * kPagedLanes) {
    MixColumns<kRows, kVectors>(weights, values, value_stride, j, first, end, keep, sum_stride, sums, ahead);
  }
  if constexpr (kVectors > 2) {
    for (; j + kVectors / 2 * kPagedLanes <= columns; j += kVectors / 2 * kPagedLanes) {
      MixColumns<kRows, kVectors / 2>(weights, values, value_stride, j, first, end, keep, sum_stride, sums, ahead);
    }
  }
  for (; j < columns; j += kPagedLanes) {
    MixColumns<kRows, 1>(weights, values, value_stride, j, first, end, keep, sum_stride, sums, ahead);
  }
}

// Half a tile is a tile of half the vectors.
template <int kRows, typename T>
HWY_INLINE void ScoreRows(const float* query, const TileBlocks<T>& keys, const TileAhead& ahead, int64_t dim,
                          int64_t count, float* scores) {
  constexpr int64_t kAll = cpu::kPagedTileKeys / kPagedLanes;
  constexpr int kVectors = static_cast<int>(std::min<int64_t>(kTileVectorsFor<kRows>, kAll));
  constexpr int kHalf = kVectors == kAll ? kVectors / 2 : kVectors;
  if (ahead.bytes) return ScoreKeys<kRows, kVectors, true>(query, keys, ahead, dim, cpu::kPagedTileKeys, scores);
  if (count <= kHalf * kPagedLanes) return ScoreKeys<kRows, kHalf, false>(query, keys, ahead, dim, count, scores);
  ScoreKeys<kRows, kVectors, false>(query, keys, ahead, dim, count, scores);
}

template <typename T>
void ScorePanel(int64_t rows, const float* query, const TileBlocks<T>& keys, const TileAhead& ahead, int64_t dim,
                int64_t count, float* scores) {
#define WICK_CALL(n) ScoreRows<n>(query, keys, ahead, dim, count, scores)
  WICK_ROWS(rows, WICK_CALL)
#undef WICK_CALL
}

template <typename T>
void MixPanel(int64_t rows, const float* weights, const TileBlocks<T>& values, int64_t value_stride, int64_t columns,
              int64_t first, int64_t end, const float* keep, int64_t sum_stride, float* sums, const TileAhead& ahead) {
#define WICK_CALL(n) MixValues<n>(weights, values, value_stride, columns, first, end, keep, sum_stride, sums, ahead)
  WICK_ROWS(rows, WICK_CALL)
#undef WICK_CALL
}

// How scores of one row become weights; key_scale and value_scale are null unless the pool is i8.
struct ScoreRules {
  float soft_cap = 0, slope = 0;  // 0: none
  const float* biases = nullptr;  // of the row's head, by distance; may be null
  int64_t distances = 0;
  const TileBlocks<float>*key_scale = nullptr, *value_scale = nullptr;
};

// Finishes scores `first` to `end` of a tile, hides those beside them in the same vectors, and returns the largest of
// them and `most`. `distance` is the position of the tile's first key less the row's.
HWY_INLINE float FinishScores(float* HWY_RESTRICT scores, int64_t first, int64_t end, const ScoreRules& rules,
                              int64_t distance, float most) {
  const hn::ScalableTag<float> d;
  const auto hidden = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto largest = hn::Set(d, most);
  if (first == 0 && end == cpu::kPagedTileKeys && !rules.key_scale && rules.soft_cap == 0 && rules.slope == 0 &&
      !rules.biases) {
#pragma GCC unroll 4
    for (int64_t j = 0; j < cpu::kPagedTileKeys; j += kPagedLanes) {
      largest = hn::Max(hn::LoadU(d, scores + j), largest);
    }
    return LargestLane(d, largest);
  }
  float biases[cpu::kPagedTileKeys] = {};
  for (int64_t j = first; rules.biases && j < end; ++j) {
    biases[j] = rules.biases[std::min(-(distance + j), rules.distances - 1)];
  }
  for (int64_t j = first / kPagedLanes * kPagedLanes; j < end; j += kPagedLanes) {
    auto s = hn::LoadU(d, scores + j);
    if (rules.key_scale) s = hn::Mul(s, hn::LoadU(d, rules.key_scale->key(j)));
    if (rules.soft_cap != 0) {
      s = hn::Mul(TanhF32(d, hn::Div(s, hn::Set(d, rules.soft_cap))), hn::Set(d, rules.soft_cap));
    }
    if (rules.slope != 0) {
      s = hn::MulAdd(hn::Set(d, rules.slope), hn::Iota(d, static_cast<float>(distance + j)), s);
    }
    if (rules.biases) s = hn::Add(s, hn::LoadU(d, biases + j));
    if (j + kPagedLanes > end) s = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(end - j)), s, hidden);
    if (j < first) s = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(first - j)), hidden, s);
    hn::StoreU(s, d, scores + j);
    largest = hn::Max(s, largest);
  }
  return LargestLane(d, largest);
}

// Finished scores become weights relative to the largest score so far, `most`, times their value's scale. Returns the
// sum of the weights alone.
HWY_INLINE float WeighScores(float* HWY_RESTRICT scores, int64_t first, int64_t end, const ScoreRules& rules,
                             float most) {
  const hn::ScalableTag<float> d;
  // -inf - -inf would be NaN
  const auto base = hn::Set(d, most == -std::numeric_limits<float>::infinity() ? 0.0f : most);
  auto sum = hn::Zero(d);
  if (first == 0 && end == cpu::kPagedTileKeys && !rules.value_scale) {
#pragma GCC unroll 4
    for (int64_t j = 0; j < cpu::kPagedTileKeys; j += kPagedLanes) {
      const auto p = ExpNegative(d, hn::Sub(hn::LoadU(d, scores + j), base));
      sum = hn::Add(sum, p);
      hn::StoreU(p, d, scores + j);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }
  for (int64_t j = first / kPagedLanes * kPagedLanes; j < end; j += kPagedLanes) {
    const auto p = ExpNegative(d, hn::Sub(hn::LoadU(d, scores + j), base));
    sum = hn::Add(sum, p);
    hn::StoreU(rules.value_scale ? hn::Mul(p, hn::LoadU(d, rules.value_scale->key(j))) : p, d, scores + j);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// What sums relative to `before` must be multiplied by to be relative to `most`.
HWY_INLINE float KeepOf(float before, float most) {
  if (before == most) return 1.0f;
  const hn::ScalableTag<float> d;
  return hn::GetLane(ExpNegative(d, hn::Set(d, before - most)));
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
