// Register tiles of attention: scores, one step of the running softmax, the mix of values. Included once per target.
#if defined(WICK_BACKENDS_CPU_ATTENTION_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_ATTENTION_TILE_INL_H
#undef WICK_BACKENDS_CPU_ATTENTION_TILE_INL_H
#else
#define WICK_BACKENDS_CPU_ATTENTION_TILE_INL_H
#endif

#include <algorithm>
#include <limits>

#include "backends/cpu/basic/row_switch.h"
#include "backends/cpu/gemm/matmul_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

inline constexpr int64_t kBlockKeys = 64;  // fixed, from key 0 on: the order of a row's sums depends on it
inline constexpr int64_t kTileRows = 6;
inline constexpr int64_t kTileVectors = WICK_MANY_REGISTERS ? 4 : 2;
inline constexpr int64_t kTileKeys = kTileVectors * kLanesOf<hn::ScalableTag<float>>;
static_assert(kBlockKeys % kTileKeys == 0);

// acc[i][j] += a(i, k) * b(k, j) in order of k; element k of row i of a is a[i * kRowStep + k * kStep], vector j of
// row k of b is at b[k * b_stride + j * vector_stride].
template <int kRows, int kVectors, int64_t kRowStep, int64_t kStep, typename T, class V>
HWY_INLINE void Accumulate(const float* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t b_stride,
                           int64_t vector_stride, int64_t length, V (&acc)[kRows][kVectors]) {
  const hn::ScalableTag<float> d;
  for (int64_t k = 0; k < length; ++k, a += kStep, b += b_stride) {
    V right[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) right[j] = LoadAs(d, b + j * vector_stride);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V left = hn::Set(d, a[i * kRowStep]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) acc[i][j] = hn::MulAdd(left, right[j], acc[i][j]);
    }
  }
}

template <int kRows>
HWY_INLINE void ScoreRows(const float* HWY_RESTRICT query, const float* HWY_RESTRICT keys, int64_t dim,
                          float* HWY_RESTRICT scores) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  for (int64_t key = 0; key < kBlockKeys; key += kTileKeys) {
    hn::Vec<decltype(d)> acc[kRows][kTileVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) acc[i][j] = hn::Zero(d);
    }
    Accumulate<kRows, kTileVectors, 1, kRows>(query, keys + key * dim, kLanes, kLanes * dim, dim, acc);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) {
        hn::StoreU(acc[i][j], d, scores + i * kBlockKeys + key + j * kLanes);
      }
    }
  }
}

// out = out * scale + weights [rows, count] x values [count, width], rows of whole vectors.
template <int kRows, int kVectors, typename T>
HWY_INLINE void MixColumns(const float* HWY_RESTRICT weights, const T* HWY_RESTRICT values, int64_t value_stride,
                           int64_t count, const float* HWY_RESTRICT scale, int64_t out_stride,
                           float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  hn::Vec<decltype(d)> acc[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      acc[i][j] = hn::Mul(hn::LoadU(d, out + i * out_stride + j * kLanes), hn::Set(d, scale[i]));
    }
  }
  Accumulate<kRows, kVectors, kBlockKeys, 1>(weights, values, value_stride, kLanes, count, acc);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) hn::StoreU(acc[i][j], d, out + i * out_stride + j * kLanes);
  }
}

template <int kRows, typename T>
HWY_INLINE void MixRows(const float* HWY_RESTRICT weights, const T* HWY_RESTRICT values, int64_t value_stride,
                        int64_t count, const float* HWY_RESTRICT scale, int64_t out_stride, float* HWY_RESTRICT out) {
  constexpr int64_t kLanes = kLanesOf<hn::ScalableTag<float>>;
  int64_t j = 0;
  if constexpr (kRows == 1) {  // long reads for a lone row
    for (; j + 2 * kTileVectors * kLanes <= out_stride; j += 2 * kTileVectors * kLanes) {
      MixColumns<kRows, 2 * kTileVectors>(weights, values + j, value_stride, count, scale, out_stride, out + j);
    }
  }
  for (; j + kTileVectors * kLanes <= out_stride; j += kTileVectors * kLanes) {
    MixColumns<kRows, kTileVectors>(weights, values + j, value_stride, count, scale, out_stride, out + j);
  }
  for (; j < out_stride; j += kLanes) {
    MixColumns<kRows, 1>(weights, values + j, value_stride, count, scale, out_stride, out + j);
  }
}

// query [dim][rows] x keys packed [kBlockKeys / lanes][dim][lanes] -> scores [rows][kBlockKeys].
inline void ScoreTile(int64_t rows, const float* query, const float* keys, int64_t dim, float* scores) {
#define WICK_CALL(n) ScoreRows<n>(query, keys, dim, scores)
  WICK_ROWS(rows, WICK_CALL)
#undef WICK_CALL
}

template <typename T>
void MixTile(int64_t rows, const float* weights, const T* values, int64_t value_stride, int64_t count,
             const float* scale, int64_t out_stride, float* out) {
#define WICK_CALL(n) MixRows<n>(weights, values, value_stride, count, scale, out_stride, out)
  WICK_ROWS(rows, WICK_CALL)
#undef WICK_CALL
}

// e^x for x <= 0: 2^n * e^r with |r| <= ln(2) / 2, zero below -87; NaN stays NaN.
template <class D, class V>
HWY_INLINE V ExpOfNegative(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.38888889e-3f);
  for (const float c : {8.33333333e-3f, 4.16666667e-2f, 1.66666667e-1f, 0.5f, 1.0f, 1.0f}) {
    p = hn::MulAdd(p, r, hn::Set(d, c));
  }
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  const V result = hn::Mul(p, hn::BitCast(d, exponent));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.0f)), hn::Zero(d), result);
}

// Turns the first `count` scores of a row into weights relative to the largest score so far (`most`), the rest into
// zeros, and adds them to `total`. Returns what earlier sums must be multiplied by.
inline float SoftmaxStep(float* HWY_RESTRICT scores, int64_t count, float scale, const float* HWY_RESTRICT mask,
                         float& most, float& total) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  auto largest = hn::Set(d, most);
  for (int64_t j = 0; j < kBlockKeys; j += kLanes) {
    auto s = hn::Mul(hn::LoadU(d, scores + j), hn::Set(d, scale));
    if (mask && j < count) s = hn::Add(s, LoadAsN(d, mask + j, static_cast<size_t>(std::min(kLanes, count - j))));
    if (j + kLanes > count) {
      const auto seen = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(0, count - j)));
      s = hn::IfThenElse(seen, s, hn::Set(d, kHidden));
    }
    hn::StoreU(s, d, scores + j);
    largest = hn::Max(s, largest);
  }
  const float before = most;
  most = LargestLane(d, largest);
  const float base = most == kHidden ? 0.0f : most;  // -inf - -inf would be NaN
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < kBlockKeys; j += kLanes) {
    const auto p = ExpOfNegative(d, hn::Sub(hn::LoadU(d, scores + j), hn::Set(d, base)));
    hn::StoreU(p, d, scores + j);
    sum = hn::Add(sum, p);
  }
  const float keep = before == most ? 1.0f : hn::GetLane(ExpOfNegative(d, hn::Set(d, before - base)));
  total = total * keep + hn::GetLane(hn::SumOfLanes(d, sum));
  return keep;
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
