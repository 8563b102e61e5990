// Matmul for weights stored [n, k]: tiles of dot products, each with a vector of partial sums.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/matmul_dot.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/matmul_drive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

inline constexpr int64_t kDotRows = WICK_MANY_REGISTERS ? 6 : 3;  // a rows per register tile
inline constexpr int64_t kDotColumns = 4;                         // b columns per register tile
inline constexpr int64_t kDotBlockRows = 192;                     // rows x kSumBlock floats: a part of L2

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
HWY_INLINE void FinishFour(V v0, V v1, V v2, V v3, bool first, int64_t columns, Acc* HWY_RESTRICT out) {
  const auto x0 = FoldTo16Bytes(v0), x1 = FoldTo16Bytes(v1), x2 = FoldTo16Bytes(v2), x3 = FoldTo16Bytes(v3);
  using D = hn::DFromV<decltype(FoldTo16Bytes(v0))>;
  const D d;
  constexpr int64_t kLanes = kLanesOf<D>;
  HWY_ALIGN Acc sums[4];
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes == 4) {
    const auto s01 = hn::Add(hn::ConcatLowerLower(d, x1, x0), hn::ConcatUpperUpper(d, x1, x0));
    const auto s23 = hn::Add(hn::ConcatLowerLower(d, x3, x2), hn::ConcatUpperUpper(d, x3, x2));
    const auto total = hn::Add(hn::ConcatEven(d, s23, s01), hn::ConcatOdd(d, s23, s01));
    if (columns >= 4) {
      hn::StoreU(first ? total : hn::Add(hn::LoadU(d, out), total), d, out);
      return;
    }
    hn::Store(total, d, sums);
  } else  // NOLINT: joins the loop below
#endif
  {
    HWY_ALIGN Acc lanes[4 * kLanes];
    hn::Store(x0, d, lanes);
    hn::Store(x1, d, lanes + kLanes);
    hn::Store(x2, d, lanes + 2 * kLanes);
    hn::Store(x3, d, lanes + 3 * kLanes);
    for (int64_t j = 0; j < 4; ++j) sums[j] = kLanes == 2 ? lanes[2 * j] + lanes[2 * j + kLanes - 1] : lanes[j];
  }
  for (int64_t j = 0; j < std::min<int64_t>(columns, 4); ++j) out[j] = first ? sums[j] : out[j] + sums[j];
}

// kRows x kCols dot products over one sum block. a: packed [steps][kRows][lanes], zeros behind the end.
// b: column j at b[j], `step` elements from one vector to the next; `tail` elements count in the last vector (0: all).
template <int kRows, int kCols, typename Acc, typename T>
HWY_INLINE void DotTile(const Acc* HWY_RESTRICT a, const T* const* HWY_RESTRICT b, int64_t step, int64_t steps,
                        int64_t tail, bool first, int64_t columns, Acc* HWY_RESTRICT out, int64_t out_stride) {
  const hn::ScalableTag<Acc> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  V acc[kRows][kCols];
  const T* HWY_RESTRICT column[kCols];
  for (int j = 0; j < kCols; ++j) column[j] = b[j];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kCols; ++j) acc[i][j] = hn::Zero(d);
  }
  const int64_t whole = tail ? steps - 1 : steps;
  for (int64_t s = 0; s < whole; ++s, a += kRows * kLanes) {
    V right[kCols];
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) right[j] = LoadAs(d, column[j] + s * step);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V left = hn::LoadU(d, a + i * kLanes);
#pragma GCC unroll 8
      for (int j = 0; j < kCols; ++j) acc[i][j] = hn::MulAdd(left, right[j], acc[i][j]);
    }
  }
  if (tail) {
    for (int j = 0; j < kCols; ++j) {
      const V right = LoadAsN(d, column[j] + whole * step, static_cast<size_t>(tail));
      for (int i = 0; i < kRows; ++i) acc[i][j] = hn::MulAdd(hn::LoadU(d, a + i * kLanes), right, acc[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i, out += out_stride) {
    for (int j = 0; j < kCols; j += 4) {
      FinishFour(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3], first, columns - j, out + j);
    }
  }
}

// All rows of a block against one group of columns.
template <int kCols, typename Acc, typename T>
void DotPanels(const Acc* HWY_RESTRICT a, int64_t rows, const T* const* b, int64_t step, int64_t length, bool packed,
               bool first, int64_t columns, Acc* HWY_RESTRICT out, int64_t out_stride) {
  constexpr int64_t kLanes = kLanesOf<hn::ScalableTag<Acc>>;
  const int64_t padded = RoundUp(length, kLanes), steps = padded / kLanes, tail = packed ? 0 : length % kLanes;
  const cpu::EvenSplit panels = cpu::split_evenly(rows, kDotRows);
  for (int64_t p = 0; p < panels.parts; ++p) {
    const auto tile = [&](auto count) HWY_ATTR {
      DotTile<decltype(count)::value, kCols>(a, b, step, steps, tail, first, columns, out, out_stride);
    };
    const int64_t count = panels.length(p);
    switch (count) {
      case 1: tile(std::integral_constant<int, 1>()); break;
      case 2: tile(std::integral_constant<int, 2>()); break;
      case 3: tile(std::integral_constant<int, 3>()); break;
#if WICK_MANY_REGISTERS
      case 4: tile(std::integral_constant<int, 4>()); break;
      case 5: tile(std::integral_constant<int, 5>()); break;
      case 6: tile(std::integral_constant<int, 6>()); break;
#endif
    }
    a += count * padded;
    out += count * out_stride;
  }
}

template <typename Acc, typename T>
struct DotKernel {
  static int64_t block_rows(const MatmulPlan&) { return kDotBlockRows; }
  static int64_t packed_length(int64_t k) { return RoundUp(k, kLanesOf<hn::ScalableTag<Acc>>); }
  static int64_t chunk_columns(const MatmulPlan& plan, int64_t row_blocks) {
    return ChunkColumns(plan, row_blocks, 8, 32, 512);
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
    const T* b = reinterpret_cast<const T*>(task.b);
    for (int64_t j = 0; j < task.column_count; j += kCols) {
      const int64_t columns = std::min<int64_t>(kCols, task.column_count - j);
      const Acc* rows = task.rows;
      for (int64_t k = 0; k < plan.k; k += kSumBlock) {
        const int64_t length = std::min(kSumBlock, plan.k - k);
        const T* column[kCols];
        for (int64_t c = 0; c < kCols; ++c) {
          column[c] = b + (task.column + j + std::min(c, columns - 1)) * plan.b_col + k;
        }
        DotPanels<kCols>(rows, task.row_count, column, kLanesOf<hn::ScalableTag<Acc>>, length, false, k == 0, columns,
                         task.out + j, task.out_stride);
        rows += task.row_count * packed_length(length);
      }
    }
  }

  static void run(const MatmulPlan& plan, const MatmulTask<Acc>& task) {
    if constexpr (kLoadable<Acc, T>) {
      if (plan.b_row == 1 && task.row_count == 1) return stream<8>(plan, task);
      if (plan.b_row == 1 && task.row_count <= 2 * kDotRows) return stream<4>(plan, task);
    }
    constexpr int64_t kLanes = kLanesOf<hn::ScalableTag<Acc>>;
    const T* b = reinterpret_cast<const T*>(task.b);
    Acc* const packed = cpu::scratch<Acc, struct MatmulColumns>(kDotColumns * (kSumBlock + kLanes));
    const Acc* const column[kDotColumns] = {packed, packed + kLanes, packed + 2 * kLanes, packed + 3 * kLanes};
    const Acc* rows = task.rows;
    for (int64_t k = 0; k < plan.k; k += kSumBlock) {
      const int64_t length = std::min(kSumBlock, plan.k - k);
      for (int64_t j = 0; j < task.column_count; j += kDotColumns) {
        const int64_t columns = std::min(kDotColumns, task.column_count - j);
        PackDot(b + (task.column + j) * plan.b_col + k * plan.b_row, plan.b_col, plan.b_row, columns, kDotColumns,
                length, packed);
        DotPanels<kDotColumns>(rows, task.row_count, column, kDotColumns * kLanes, length, true, k == 0, columns,
                               task.out + j, task.out_stride);
      }
      rows += task.row_count * packed_length(length);
    }
  }
};

void MatmulDot(const MatmulPlan& plan) {
  cpu::visit_float(plan.b_type, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, double>) {
      DriveMatmul<double, DotKernel<double, T>>(plan);
    } else {
      if (plan.out_type == DType::kF64) {
        DriveMatmul<double, DotKernel<double, T>>(plan);
      } else {
        DriveMatmul<float, DotKernel<float, T>>(plan);
      }
    }
  });
}

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
