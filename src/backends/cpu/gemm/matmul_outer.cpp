// Matmul for row-major b: outer products accumulate in tiles whose vectors run over n.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm/matmul_outer.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/gemm/matmul_drive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

inline constexpr int64_t kOuterRows = WICK_MANY_REGISTERS ? 8 : 4;  // a rows per register tile
inline constexpr int64_t kOuterVectors = 3;                         // vectors of b columns per register tile
inline constexpr int64_t kStreamRows = 4;                           // up to here b is read straight from memory
inline constexpr int64_t kStreamDepth = 8;                          // rows of b read side by side

// kRows x kVectors results over one sum block: a packed [length][kRows], b packed [length][kVectors * lanes].
template <int kRows, int kVectors, typename Acc>
HWY_INLINE void OuterTile(const Acc* HWY_RESTRICT a, const Acc* HWY_RESTRICT b, int64_t length, bool first,
                          int64_t columns, Acc* HWY_RESTRICT out, int64_t out_stride) {
  const hn::ScalableTag<Acc> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  V acc[kRows][kVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) acc[i][j] = hn::Zero(d);
  }
  for (int64_t k = 0; k < length; ++k, a += kRows, b += kVectors * kLanes) {
    V right[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) right[j] = hn::LoadU(d, b + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V left = hn::Set(d, a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) acc[i][j] = hn::MulAdd(left, right[j], acc[i][j]);
    }
  }
  const size_t tail = static_cast<size_t>(columns) % kLanes;  // only the last vector may be cut
  for (int i = 0; i < kRows; ++i, out += out_stride) {
    for (int j = 0; j < kVectors; ++j) {
      Acc* HWY_RESTRICT to = out + j * kLanes;
      if (j + 1 < kVectors || tail == 0) {
        hn::StoreU(first ? acc[i][j] : hn::Add(hn::LoadU(d, to), acc[i][j]), d, to);
      } else {
        StoreAsN(first ? acc[i][j] : hn::Add(LoadAsN(d, to, tail), acc[i][j]), d, to, tail);
      }
    }
  }
}

template <int kVectors, typename Acc>
void OuterTileRows(int64_t rows, const Acc* a, const Acc* b, int64_t length, bool first, int64_t columns, Acc* out,
                   int64_t out_stride) {
  const auto tile = [&](auto count) HWY_ATTR {
    OuterTile<decltype(count)::value, kVectors>(a, b, length, first, columns, out, out_stride);
  };
  switch (rows) {
    case 1: tile(std::integral_constant<int, 1>()); break;
    case 2: tile(std::integral_constant<int, 2>()); break;
    case 3: tile(std::integral_constant<int, 3>()); break;
    case 4: tile(std::integral_constant<int, 4>()); break;
#if WICK_MANY_REGISTERS
    case 5: tile(std::integral_constant<int, 5>()); break;
    case 6: tile(std::integral_constant<int, 6>()); break;
    case 7: tile(std::integral_constant<int, 7>()); break;
    case 8: tile(std::integral_constant<int, 8>()); break;
#endif
  }
}

// sums[row] += a[k][row] * b[k] for kDepth rows of b, in order of k.
template <int kDepth, typename Acc, typename T>
HWY_INLINE void StreamRows(const Acc* HWY_RESTRICT a, int64_t rows, const T* HWY_RESTRICT b, int64_t b_stride,
                           int64_t columns, Acc* HWY_RESTRICT sums, int64_t sums_stride) {
  const hn::ScalableTag<Acc> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  for (int64_t j = 0; j < columns; j += kLanes) {
    const bool whole = j + kLanes <= columns;
    V right[kDepth];
#pragma GCC unroll 8
    for (int k = 0; k < kDepth; ++k) {
      const T* from = b + k * b_stride + j;
      right[k] = whole ? LoadAs(d, from) : LoadAsN(d, from, static_cast<size_t>(columns - j));
    }
    for (int64_t i = 0; i < rows; ++i) {
      Acc* HWY_RESTRICT sum = sums + i * sums_stride + j;
      V total = hn::Load(d, sum);
#pragma GCC unroll 8
      for (int k = 0; k < kDepth; ++k) total = hn::MulAdd(hn::Set(d, a[k * rows + i]), right[k], total);
      hn::Store(total, d, sum);
    }
  }
}

template <typename Acc, typename T>
struct OuterKernel {
  static constexpr int64_t kLanes = kLanesOf<hn::ScalableTag<Acc>>;
  static constexpr int64_t kTileColumns = kOuterVectors * kLanes;

  static bool streams(const MatmulPlan& plan) { return kLoadable<Acc, T> && plan.m <= kStreamRows; }
  // Small products: a block of rows per thread, where columns alone would share them out unevenly.
  static int64_t block_rows(const MatmulPlan& plan) {
    const int64_t threads = UsefulThreads(plan);
    if (plan.batches > 1 || plan.n >= 8 * threads * kTileColumns) return 256;
    return std::clamp<int64_t>(RoundUp((plan.m + threads - 1) / threads, kOuterRows), 64, 256);
  }
  static int64_t packed_length(int64_t k) { return k; }
  static int64_t chunk_columns(const MatmulPlan& plan, int64_t row_blocks) {
    if (streams(plan)) return ChunkColumns(plan, row_blocks, kLanes, 256, 1024);
    return ChunkColumns(plan, row_blocks, kTileColumns, kTileColumns,
                        std::max<int64_t>(1, 256 / kTileColumns) * kTileColumns);
  }

  static void pack(const MatmulPlan& plan, const std::byte* a, int64_t row, int64_t rows, Acc* to) {
    const cpu::EvenSplit panels = cpu::split_evenly(rows, kOuterRows);
    cpu::visit_float(plan.a_type, [&](auto zero) HWY_ATTR {
      using A = decltype(zero);
      for (int64_t k = 0; k < plan.k; k += kSumBlock) {
        const int64_t length = std::min(kSumBlock, plan.k - k);
        for (int64_t p = 0; p < panels.parts; ++p) {
          const A* from = reinterpret_cast<const A*>(a) + (row + panels.begin(p)) * plan.a_row + k * plan.a_col;
          PackTransposed(from, plan.a_row, plan.a_col, panels.length(p), panels.length(p), length, to);
          to += panels.length(p) * length;
        }
      }
    });
  }

  static void stream(const MatmulPlan& plan, const MatmulTask<Acc>& task) {
    const T* b = reinterpret_cast<const T*>(task.b) + task.column;
    const int64_t padded = RoundUp(task.column_count, kLanes), rows = task.row_count;
    Acc* const sums = cpu::scratch<Acc, struct MatmulPartial>(rows * padded);
    for (int64_t k = 0; k < plan.k; k += kSumBlock) {
      const int64_t end = std::min(k + kSumBlock, plan.k);
      std::fill_n(sums, rows * padded, Acc{0});
      int64_t i = k;
      for (; i + kStreamDepth <= end; i += kStreamDepth) {
        StreamRows<kStreamDepth>(task.rows + i * rows, rows, b + i * plan.b_row, plan.b_row, task.column_count, sums,
                                 padded);
      }
      for (; i < end; ++i) {
        StreamRows<1>(task.rows + i * rows, rows, b + i * plan.b_row, plan.b_row, task.column_count, sums, padded);
      }
      for (int64_t r = 0; r < rows; ++r) {
        Acc* HWY_RESTRICT out = task.out + r * task.out_stride;
        const Acc* HWY_RESTRICT sum = sums + r * padded;
        for (int64_t j = 0; j < task.column_count; ++j) out[j] = k == 0 ? sum[j] : out[j] + sum[j];
      }
    }
  }

  static void run(const MatmulPlan& plan, const MatmulTask<Acc>& task) {
    if constexpr (kLoadable<Acc, T>) {
      if (streams(plan)) return stream(plan, task);
    }
    const T* b = reinterpret_cast<const T*>(task.b) + task.column;
    const int64_t padded = RoundUp(task.column_count, kLanes);
    Acc* const packed = cpu::scratch<Acc, struct MatmulColumns>(padded * kSumBlock);
    const cpu::EvenSplit panels = cpu::split_evenly(task.row_count, kOuterRows);
    const Acc* rows = task.rows;
    for (int64_t k = 0; k < plan.k; k += kSumBlock) {
      const int64_t length = std::min(kSumBlock, plan.k - k);
      for (int64_t j = 0; j < task.column_count; j += kTileColumns) {
        const int64_t columns = std::min(kTileColumns, task.column_count - j);
        PackStraight(b + k * plan.b_row + j, plan.b_row, columns, RoundUp(columns, kLanes), length,
                     packed + j * length);
      }
      for (int64_t p = 0; p < panels.parts; ++p) {
        Acc* out = task.out + panels.begin(p) * task.out_stride;
        for (int64_t j = 0; j < task.column_count; j += kTileColumns) {
          const int64_t columns = std::min(kTileColumns, task.column_count - j);
          const auto run_tile = columns > 2 * kLanes ? OuterTileRows<3, Acc>
                                : columns > kLanes   ? OuterTileRows<2, Acc>
                                                     : OuterTileRows<1, Acc>;
          run_tile(panels.length(p), rows, packed + j * length, length, k == 0, columns, out + j, task.out_stride);
        }
        rows += panels.length(p) * length;
      }
    }
  }
};

void MatmulOuter(const MatmulPlan& plan) { RunMatmul<OuterKernel>(plan); }

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(MatmulOuter);
namespace cpu {
void matmul_outer(const MatmulPlan& plan) { HWY_DYNAMIC_DISPATCH(MatmulOuter)(plan); }
}  // namespace cpu
}  // namespace wick
#endif
