// Matmul for weights stored [n, k]: tiles of dot products, each with a vector of partial sums.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm/matmul_dot.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/gemm/matmul_drive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

inline constexpr int64_t kDotRows = WICK_MANY_REGISTERS ? 6 : 3;  // a rows per register tile
inline constexpr int64_t kDotColumns = 4;                         // b columns per register tile
inline constexpr int64_t kDotBlockRows = 192;

// Halves a vector by adding its upper half to its lower until 16 bytes are left.
template <class V>
HWY_INLINE auto FoldTo16Bytes(V v) {
#if HWY_TARGET == HWY_SCALAR
  return v;
#else
  using D = hn::DFromV<V>;
  if constexpr (sizeof(hn::TFromD<D>) * kLanesOf < D >> 16) {
    const hn::Half<D> half;
    return FoldTo16Bytes(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return v;
  }
#endif
}

// The sums of four vectors' lanes, added to (or, for the first block, put into) four neighbouring results.
template <class V, typename Acc = hn::TFromV<V>>
HWY_INLINE void FinishFour(V v0, V v1, V v2, V v3, bool first, Acc* HWY_RESTRICT out) {
  const auto x0 = FoldTo16Bytes(v0), x1 = FoldTo16Bytes(v1), x2 = FoldTo16Bytes(v2), x3 = FoldTo16Bytes(v3);
  using D = hn::DFromV<decltype(FoldTo16Bytes(v0))>;
  const D d;
  constexpr int64_t kLanes = kLanesOf<D>;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes == 4) {
    const auto s01 = hn::Add(hn::ConcatLowerLower(d, x1, x0), hn::ConcatUpperUpper(d, x1, x0));
    const auto s23 = hn::Add(hn::ConcatLowerLower(d, x3, x2), hn::ConcatUpperUpper(d, x3, x2));
    const auto total = hn::Add(hn::ConcatEven(d, s23, s01), hn::ConcatOdd(d, s23, s01));
    hn::StoreU(first ? total : hn::Add(hn::LoadU(d, out), total), d, out);
    return;
  }
#endif
  HWY_ALIGN Acc lanes[4 * kLanes];
  hn::Store(x0, d, lanes);
  hn::Store(x1, d, lanes + kLanes);
  hn::Store(x2, d, lanes + 2 * kLanes);
  hn::Store(x3, d, lanes + 3 * kLanes);
  for (int64_t j = 0; j < 4; ++j) {
    const Acc sum = kLanes == 2 ? lanes[2 * j] + lanes[2 * j + kLanes - 1] : lanes[j];
    out[j] = first ? sum : out[j] + sum;
  }
}

#if HWY_TARGET == HWY_AVX3
// FinishFour for four rows at once, the same additions in fewer instructions: 16 sums share their shuffles.
// r0..r3: a row's four columns, each folded to a 16-byte block.
HWY_INLINE __m512 SumBlocks(__m512 r0, __m512 r1, __m512 r2, __m512 r3) {
  const __m512 s01 = _mm512_mask_blend_ps(0xcccc, r0, r1) + _mm512_shuffle_ps(r0, r1, _MM_SHUFFLE(1, 0, 3, 2));
  const __m512 s23 = _mm512_mask_blend_ps(0xcccc, r2, r3) + _mm512_shuffle_ps(r2, r3, _MM_SHUFFLE(1, 0, 3, 2));
  const __m512 even = _mm512_shuffle_ps(s01, s23, _MM_SHUFFLE(2, 0, 2, 0));
  const __m512 odd = _mm512_shuffle_ps(s01, s23, _MM_SHUFFLE(3, 1, 3, 1));
  const __m512i transposed = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_ps(transposed, even + odd);  // block i holds the four results of row i
}

template <class V>
HWY_INLINE __m512 FoldRow(const V (&v)[4]) {
  const hn::DFromV<V> d;
  const V v01 = hn::Add(hn::ConcatUpperLower(d, v[1], v[0]), hn::ConcatLowerUpper(d, v[1], v[0]));
  const V v23 = hn::Add(hn::ConcatUpperLower(d, v[3], v[2]), hn::ConcatLowerUpper(d, v[3], v[2]));
  return _mm512_shuffle_f32x4(v01.raw, v23.raw, 0x88) + _mm512_shuffle_f32x4(v01.raw, v23.raw, 0xdd);
}

HWY_INLINE void AddFour(__m128 sums, bool first, float* HWY_RESTRICT out) {
  _mm_storeu_ps(out, first ? sums : _mm_loadu_ps(out) + sums);
}

template <int kRows, class V>
HWY_INLINE void FinishTile(const V (&acc)[kRows][4], bool first, float* HWY_RESTRICT out, int64_t out_stride) {
  __m512 row[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) row[i] = FoldRow(acc[i]);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i += 4, out += 4 * out_stride) {
    constexpr int kLast = kRows - 1;
    const __m512 sums = SumBlocks(row[i], row[i + 1 < kRows ? i + 1 : kLast], row[i + 2 < kRows ? i + 2 : kLast],
                                  row[i + 3 < kRows ? i + 3 : kLast]);
    AddFour(_mm512_castps512_ps128(sums), first, out);
    if (i + 1 < kRows) AddFour(_mm512_extractf32x4_ps(sums, 1), first, out + out_stride);
    if (i + 2 < kRows) AddFour(_mm512_extractf32x4_ps(sums, 2), first, out + 2 * out_stride);
    if (i + 3 < kRows) AddFour(_mm512_extractf32x4_ps(sums, 3), first, out + 3 * out_stride);
  }
}
#endif

// kRows x kCols dot products over one sum block. a: packed [steps][kRows][lanes], zeros behind the end.
// b: column j at b[j], `step` elements from one vector to the next; kTail: only `tail` elements of the last vector
// count. `next`: what comes after this, as it lies in memory, to be fetched meanwhile; null: nothing.
template <int kRows, int kCols, bool kTail, typename Acc, typename T>
HWY_INLINE void DotTile(const Acc* HWY_RESTRICT a, const T* const* HWY_RESTRICT b, int64_t step, int64_t steps,
                        int64_t tail, const T* next, bool first, Acc* HWY_RESTRICT out, int64_t out_stride) {
  const hn::ScalableTag<Acc> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  V acc[kRows][kCols];
  const T* HWY_RESTRICT column[kCols];
#pragma GCC unroll 8
  for (int j = 0; j < kCols; ++j) column[j] = b[j];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) acc[i][j] = hn::Zero(d);
  }
  const int64_t whole = kTail ? steps - 1 : steps;
  constexpr int64_t kLineElements = 64 / sizeof(T), kStepsPerLine = std::max<int64_t>(1, kLineElements / kLanes);
  for (int64_t s = 0; s < whole; ++s, a += kRows * kLanes) {
    V right[kCols];
    if (next && s % kStepsPerLine == 0) {
#pragma GCC unroll 8
      for (int j = 0; j < kCols; ++j) __builtin_prefetch(next + s * step * kCols + j * kLineElements, 0, 2);
    }
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) right[j] = LoadAs(d, column[j] + s * step);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V left = hn::LoadU(d, a + i * kLanes);
#pragma GCC unroll 8
      for (int j = 0; j < kCols; ++j) acc[i][j] = hn::MulAdd(left, right[j], acc[i][j]);
    }
  }
  if constexpr (kTail) {
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) {
      const V right = LoadAsN(d, column[j] + whole * step, static_cast<size_t>(tail));
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) acc[i][j] = hn::MulAdd(hn::LoadU(d, a + i * kLanes), right, acc[i][j]);
    }
  }
#if HWY_TARGET == HWY_AVX3
  if constexpr (kCols == 4 && kRows > 1 && std::is_same_v<Acc, float>) {
    return FinishTile(acc, first, out, out_stride);
  }
#endif
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kCols; j += 4) {
      FinishFour(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3], first, out + i * out_stride + j);
    }
  }
}

// Eight columns side by side are for one row only. Not inlined: tiles of all heights are large, and two callers share
// them.
template <int kCols, bool kTail, typename Acc, typename T>
HWY_NOINLINE void DotTileRows(int64_t rows, const Acc* a, const T* const* b, int64_t step, int64_t steps, int64_t tail,
                              const T* next, bool first, Acc* out, int64_t out_stride) {
#define WICK_TILE(count) DotTile<count, kCols, kTail>(a, b, step, steps, tail, next, first, out, out_stride)
  if constexpr (kCols == 8) {
    WICK_TILE(1);
  } else {
    switch (rows) {
      case 1: return WICK_TILE(1);
      case 2: return WICK_TILE(2);
      case 3: return WICK_TILE(3);
#if WICK_MANY_REGISTERS
      case 4: return WICK_TILE(4);
      case 5: return WICK_TILE(5);
      case 6: return WICK_TILE(6);
#endif
    }
  }
#undef WICK_TILE
}

// One row and one column over one sum block; kTail as above.
template <bool kTail, class D, typename Acc, typename T>
HWY_INLINE hn::Vec<D> DotColumn(D d, const Acc* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t steps, int64_t tail) {
  constexpr int64_t kLanes = kLanesOf<D>;
  auto sum = hn::Zero(d);
  const int64_t whole = kTail ? steps - 1 : steps;
  for (int64_t i = 0; i < whole * kLanes; i += kLanes) sum = hn::MulAdd(hn::LoadU(d, a + i), LoadAs(d, b + i), sum);
  if constexpr (kTail) {
    const auto right = LoadAsN(d, b + whole * kLanes, static_cast<size_t>(tail));
    sum = hn::MulAdd(hn::LoadU(d, a + whole * kLanes), right, sum);
  }
  return sum;
}

// A tile at the right edge is computed whole, beside the output, and its first `columns` columns are kept.
template <int kCols, bool kTail, typename Acc, typename T>
void DotEdge(int64_t rows, const Acc* a, const T* const* b, int64_t step, int64_t steps, int64_t tail, const T* next,
             bool first, int64_t columns, Acc* out, int64_t out_stride) {
  Acc sums[kDotRows * kCols];
  DotTileRows<kCols, kTail>(rows, a, b, step, steps, tail, next, true, sums, kCols);
  for (int64_t i = 0; i < rows; ++i, out += out_stride) {
    for (int64_t j = 0; j < columns; ++j) out[j] = first ? sums[i * kCols + j] : out[j] + sums[i * kCols + j];
  }
}

template <int kCols, bool kTail, typename Acc, typename T>
void DotColumns(int64_t rows, const Acc* a, const T* const* b, int64_t step, int64_t steps, int64_t tail, const T* next,
                bool first, int64_t columns, Acc* out, int64_t out_stride) {
  if (columns >= kCols) {
    DotTileRows<kCols, kTail>(rows, a, b, step, steps, tail, next, first, out, out_stride);
  } else {
    DotEdge<kCols, kTail>(rows, a, b, step, steps, tail, next, first, columns, out, out_stride);
  }
}

template <typename Acc, typename T>
struct DotKernel {
  static int64_t block_rows(const MatmulPlan&) { return kDotBlockRows; }
  static int64_t packed_length(int64_t k) { return RoundUp(k, kLanesOf<hn::ScalableTag<Acc>>); }
  static int64_t chunk_columns(const MatmulPlan& plan, int64_t row_blocks) {
    // One row only reads b: long pieces of it, because what is fetched beyond a piece's end is fetched in vain.
    if (plan.m == 1 && plan.batches == 1) {
      const int64_t share = (plan.n + UsefulThreads(plan) - 1) / UsefulThreads(plan);
      const int64_t most = (int64_t{512} << 10) / std::max<int64_t>(1, plan.k * static_cast<int64_t>(sizeof(T)));
      return RoundUp(std::max<int64_t>(1, std::min(share, most)), 8);
    }
    return ChunkColumns(plan, row_blocks, 8, 32, 1024 / sizeof(Acc));
  }

  static void pack(const MatmulPlan& plan, const std::byte* a, int64_t row, int64_t rows, Acc* to) {
    const cpu::EvenSplit panels = cpu::split_evenly(rows, kDotRows);
    cpu::visit_float(plan.a_type, [&](auto zero) HWY_ATTR {
      using A = decltype(zero);
      for (int64_t k = 0; k < plan.k; k += kSumBlock) {
        const int64_t length = std::min(kSumBlock, plan.k - k);
        for (int64_t p = 0; p < panels.parts; ++p) {
          const A* from = reinterpret_cast<const A*>(a) + (row + panels.begin(p)) * plan.a_row + k * plan.a_col;
          PackDot(from, plan.a_row, plan.a_col, panels.length(p), panels.length(p), length, to);
          to += panels.length(p) * packed_length(length);
        }
      }
    });
  }

  // Few rows: every column is read once, straight from memory, several columns at a time.
  template <int kCols>
  static void stream(const MatmulPlan& plan, const MatmulTask<Acc>& task) {
    constexpr int64_t kLanes = kLanesOf<hn::ScalableTag<Acc>>;
    const T* b = reinterpret_cast<const T*>(task.b);
    const cpu::EvenSplit panels = cpu::split_evenly(task.row_count, kDotRows);
    for (int64_t j = 0; j < task.column_count; j += kCols) {
      const int64_t columns = std::min<int64_t>(kCols, task.column_count - j);
      const Acc* rows = task.rows;
      for (int64_t k = 0; k < plan.k; k += kSumBlock) {
        const int64_t length = std::min(kSumBlock, plan.k - k), padded = packed_length(length);
        const T* column[kCols];
        for (int64_t c = 0; c < kCols; ++c) {
          column[c] = b + (task.column + j + std::min(c, columns - 1)) * plan.b_col + k;
        }
        const bool one_behind_another = plan.b_col == plan.k && panels.parts == 1;
        const T* next = one_behind_another ? column[0] - k + (kCols * plan.k + k * kCols) : nullptr;
        for (int64_t p = 0; p < panels.parts; ++p) {
          const auto run = length % kLanes ? DotColumns<kCols, true, Acc, T> : DotColumns<kCols, false, Acc, T>;
          run(panels.length(p), rows, column, kLanes, padded / kLanes, length % kLanes, next, k == 0, columns,
              task.out + panels.begin(p) * task.out_stride + j, task.out_stride);
          rows += panels.length(p) * padded;
        }
      }
    }
  }

  // One row where a vector is a cache line: one column behind the other, as they lie in memory. The processor's own
  // prefetching follows that best, and one chain of sums is as fast as memory.
  static void stream_in_order(const MatmulPlan& plan, const MatmulTask<Acc>& task) {
    const hn::ScalableTag<Acc> d;
    constexpr int64_t kLanes = kLanesOf<decltype(d)>, kCols = 4;
    const T* b = reinterpret_cast<const T*>(task.b);
    const int64_t blocks = (plan.k + kSumBlock - 1) / kSumBlock;
    Acc* const sums = cpu::scratch<Acc, struct MatmulSums>(blocks * kCols * kLanes);  // [blocks][kCols][kLanes]
    const auto sum_of = [&](int64_t block, int64_t c)
                            HWY_ATTR { return hn::LoadU(d, sums + (block * kCols + c) * kLanes); };
    for (int64_t j = 0; j < task.column_count; j += kCols) {
      const int64_t columns = std::min<int64_t>(kCols, task.column_count - j);
      for (int64_t c = 0; c < kCols; ++c) {
        const T* column = b + (task.column + j + std::min(c, columns - 1)) * plan.b_col;
        const Acc* row = task.rows;
        for (int64_t k = 0; k < plan.k; k += kSumBlock) {
          const int64_t length = std::min(kSumBlock, plan.k - k), padded = packed_length(length);
          const auto sum = length % kLanes ? DotColumn<true>(d, row, column + k, padded / kLanes, length % kLanes)
                                           : DotColumn<false>(d, row, column + k, padded / kLanes, 0);
          hn::StoreU(sum, d, sums + (k / kSumBlock * kCols + c) * kLanes);
          row += padded;
        }
      }
      Acc results[kCols];
      for (int64_t i = 0; i < blocks; ++i)
        FinishFour(sum_of(i, 0), sum_of(i, 1), sum_of(i, 2), sum_of(i, 3), i == 0, results);
      std::copy_n(results, columns, task.out + j);
    }
  }

  static void run(const MatmulPlan& plan, const MatmulTask<Acc>& task) {
    if constexpr (kLoadable<Acc, T>) {
      if (plan.b_row == 1 && task.row_count == 1) {
        if constexpr (sizeof(Acc) * kLanesOf<hn::ScalableTag<Acc>> >= 64) {
          return stream_in_order(plan, task);
        } else {
          return stream<8>(plan, task);
        }
      }
      if (plan.b_row == 1 && task.row_count <= 2 * kDotRows) return stream<4>(plan, task);
    }
    const T* b = reinterpret_cast<const T*>(task.b);
    const int64_t groups = (task.column_count + kDotColumns - 1) / kDotColumns;
    Acc* const packed = cpu::scratch<Acc, struct MatmulColumns>(groups * kDotColumns * packed_length(kSumBlock));
    const Acc* rows = task.rows;
    for (int64_t k = 0; k < plan.k; k += kSumBlock) {
      const int64_t length = std::min(kSumBlock, plan.k - k), group_size = kDotColumns * packed_length(length);
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t j = g * kDotColumns, columns = std::min(kDotColumns, task.column_count - j);
        PackDot(b + (task.column + j) * plan.b_col + k * plan.b_row, plan.b_col, plan.b_row, columns, kDotColumns,
                length, packed + g * group_size);
      }
      rows = multiply_block(task, rows, packed, length, k == 0);
    }
  }

  // One sum block: a panel of rows stays in L1 while the packed columns pass by. Returns the next block's rows.
  static const Acc* multiply_block(const MatmulTask<Acc>& task, const Acc* rows, const Acc* packed, int64_t length,
                                   bool first) {
    constexpr int64_t kLanes = kLanesOf<hn::ScalableTag<Acc>>;
    const cpu::EvenSplit panels = cpu::split_evenly(task.row_count, kDotRows);
    const int64_t padded = packed_length(length);
    for (int64_t p = 0; p < panels.parts; ++p) {
      Acc* out = task.out + panels.begin(p) * task.out_stride;
      const Acc* group = packed;
      for (int64_t j = 0; j < task.column_count; j += kDotColumns, group += kDotColumns * padded) {
        const Acc* const column[kDotColumns] = {group, group + kLanes, group + 2 * kLanes, group + 3 * kLanes};
        DotColumns<kDotColumns, false>(panels.length(p), rows, column, kDotColumns * kLanes, padded / kLanes, 0,
                                       static_cast<const Acc*>(nullptr), first, task.column_count - j, out + j,
                                       task.out_stride);
      }
      rows += panels.length(p) * padded;
    }
    return rows;
  }
};

void MatmulDot(const MatmulPlan& plan) { RunMatmul<DotKernel>(plan); }

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(MatmulDot);
namespace cpu {
void matmul_dot(const MatmulPlan& plan) { HWY_DYNAMIC_DISPATCH(MatmulDot)(plan); }
}  // namespace cpu
}  // namespace wick
#endif
