// The matrix product inside the convolutions: weights [rows, depth] x panel [depth, pixels]. Included once per target.
#if defined(WICK_BACKENDS_CPU_CONV_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_CONV_GEMM_INL_H
#undef WICK_BACKENDS_CPU_CONV_GEMM_INL_H
#else
#define WICK_BACKENDS_CPU_CONV_GEMM_INL_H
#endif

#include "backends/cpu/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// Rows of a register tile: 8 x 3 accumulators fill the 32 registers of AVX-512, 4 x 3 the 16 of the others.
inline constexpr int kGemmRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

// Element (row, k) is data[row * row_stride + k * depth_stride].
template <typename T>
struct GemmWeights {
  const T* data;
  int64_t row_stride, depth_stride;
};

// out[row * stride + pixel], in whole vectors. The first block of the depth starts from bias (zero if null), later ones
// add to what is there. Each element sums its products in order of depth, whatever the tile.
template <typename T>
struct GemmOut {
  T* data;
  int64_t stride;
  const T* bias;
  bool first;
};

template <int kRows, int kVectors, typename T>
HWY_NOINLINE void GemmTile(const GemmWeights<T>& weights, int64_t row, const T* HWY_RESTRICT panel,
                           int64_t panel_stride, int64_t depth, const GemmOut<T>& out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = hn::Lanes(d), out_stride = out.stride;
  T* HWY_RESTRICT to = out.data + row * out_stride;
  V sum[kRows][kVectors];
  if (!out.first) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::LoadU(d, to + r * out_stride + v * lanes);
    }
  } else {
    for (int r = 0; r < kRows; ++r) {
      const V start = out.bias ? hn::Set(d, out.bias[row + r]) : hn::Zero(d);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = start;
    }
  }
  const T* HWY_RESTRICT a = weights.data + row * weights.row_stride;
  const int64_t row_stride = weights.row_stride, depth_stride = weights.depth_stride;
  for (int64_t k = 0; k < depth; ++k) {
    V b[kVectors];
    for (int v = 0; v < kVectors; ++v) b[v] = hn::Load(d, panel + v * lanes);
    for (int r = 0; r < kRows; ++r) {
      const V w = hn::Set(d, a[r * row_stride]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(w, b[v], sum[r][v]);
    }
    a += depth_stride;
    panel += panel_stride;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, to + r * out_stride + v * lanes);
  }
}

template <int kVectors, typename T>
void GemmRows(const GemmWeights<T>& weights, int64_t rows, const T* panel, int64_t panel_stride, int64_t depth,
              const GemmOut<T>& out) {
  int64_t row = 0;
  for (; row + kGemmRows <= rows; row += kGemmRows) {
    GemmTile<kGemmRows, kVectors>(weights, row, panel, panel_stride, depth, out);
  }
  if constexpr (kGemmRows > 4) {
    if (row + 4 <= rows) {
      GemmTile<4, kVectors>(weights, row, panel, panel_stride, depth, out);
      row += 4;
    }
  }
  if (row + 2 <= rows) {
    GemmTile<2, kVectors>(weights, row, panel, panel_stride, depth, out);
    row += 2;
  }
  if (row < rows) GemmTile<1, kVectors>(weights, row, panel, panel_stride, depth, out);
}

// All rows against a panel of one to three vectors.
template <typename T>
void GemmPanel(const GemmWeights<T>& weights, int64_t rows, const T* panel, int64_t panel_stride, int64_t depth,
               int64_t vectors, const GemmOut<T>& out) {
  switch (vectors) {
    case 1: return GemmRows<1>(weights, rows, panel, panel_stride, depth, out);
    case 2: return GemmRows<2>(weights, rows, panel, panel_stride, depth, out);
    default: return GemmRows<3>(weights, rows, panel, panel_stride, depth, out);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
