// Keys of attention transposed in registers, so that lanes run over keys and sums over the head dimension are in order.
// Included once per target.
#if defined(WICK_BACKENDS_CPU_ATTENTION_KEYS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_ATTENTION_KEYS_INL_H
#undef WICK_BACKENDS_CPU_ATTENTION_KEYS_INL_H
#else
#define WICK_BACKENDS_CPU_ATTENTION_KEYS_INL_H
#endif

#include "backends/cpu/attention/attention_tile-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// Elements of a key transposed at a time: 16 bytes.
template <typename T>
inline constexpr int64_t kTransposed = 16 / sizeof(T);

template <typename T>
inline constexpr bool kCanTranspose = HWY_TARGET != HWY_SCALAR &&
                                      (!std::is_same_v<T, Half> || WICK_NATIVE_F16_AND_MASKS != 0);

#if HWY_TARGET != HWY_SCALAR

// 16 bytes each of rows 0, 4, 8, ..., one block per row, as 4-byte words.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const T* HWY_RESTRICT from, int64_t stride) {
  constexpr int64_t kBlocks = kLanesOf<D> / 4;
  using Stored = std::conditional_t<sizeof(T) == 2, uint16_t, float>;
  const hn::Repartition<Stored, D> ds;
  const auto load = [&](int64_t block) HWY_ATTR {
    const auto* at = reinterpret_cast<const Stored*>(from) + block * stride;
    if constexpr (kBlocks == 1) {
      return hn::BitCast(d, hn::LoadU(ds, at));
    } else {
      return hn::BitCast(d, hn::LoadDup128(ds, at));
    }
  };
  auto v = load(kBlocks - 1);
#pragma GCC unroll 4
  for (int64_t block = kBlocks - 2; block >= 0; --block) {
    v = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(4 * (block + 1))), load(block), v);
  }
  return v;
}

// transposed[j]: element j of as many rows as there are lanes.
template <class D, typename T, class V>
HWY_INLINE void TransposeRows(D d, const T* HWY_RESTRICT from, int64_t stride, V (&transposed)[kTransposed<T>]) {
  const V r0 = LoadBlocks(d, from, 4 * stride), r1 = LoadBlocks(d, from + stride, 4 * stride);
  const V r2 = LoadBlocks(d, from + 2 * stride, 4 * stride), r3 = LoadBlocks(d, from + 3 * stride, 4 * stride);
  const V low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
  const V high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
  const V words[4] = {hn::InterleaveLower(d, low02, low13), hn::InterleaveUpper(d, low02, low13),
                      hn::InterleaveLower(d, high02, high13), hn::InterleaveUpper(d, high02, high13)};
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, words[j]);
    if constexpr (std::is_same_v<T, float>) {
      transposed[j] = words[j];
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      transposed[2 * j] = hn::BitCast(d, hn::ShiftLeft<16>(bits));
      transposed[2 * j + 1] = hn::BitCast(d, hn::And(bits, hn::Set(du, 0xffff0000u)));
    } else {
      const hn::Rebind<uint16_t, D> d16;
      const hn::Rebind<hwy::float16_t, D> df16;
      transposed[2 * j] = hn::PromoteTo(d, hn::BitCast(df16, hn::TruncateTo(d16, bits)));
      transposed[2 * j + 1] = hn::PromoteTo(d, hn::BitCast(df16, hn::TruncateTo(d16, hn::ShiftRight<16>(bits))));
    }
  }
}

// As many keys as there are lanes, to [dim][lanes].
template <typename T>
void TransposeKeys(const T* HWY_RESTRICT keys, int64_t stride, int64_t dim, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < dim; i += kTransposed<T>) {
    hn::Vec<decltype(d)> transposed[kTransposed<T>];
    TransposeRows(d, keys + i, stride, transposed);
#pragma GCC unroll 8
    for (int j = 0; j < kTransposed<T>; ++j) hn::StoreU(transposed[j], d, to + (i + j) * kLanesOf<decltype(d)>);
  }
}

// ScoreTile on keys that are read once, straight from memory.
template <int kRows, typename T>
HWY_INLINE void ScoreStreamRows(const float* HWY_RESTRICT query, const T* HWY_RESTRICT keys, int64_t stride,
                                int64_t dim, float* HWY_RESTRICT scores) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>, kLine = 64 / sizeof(T);
  // The next vector of keys is asked for line by line as it lies in memory, which halves the wait of asking for the
  // same line of all its rows.
  const T* next = keys + kLanes * stride;
  int64_t next_at = 0;
  for (int64_t key = 0; key < kBlockKeys; key += kLanes, keys += kLanes * stride) {
    V acc[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc[i] = hn::Zero(d);
    for (int64_t k = 0; k < dim; k += kTransposed<T>) {
      for (int64_t line = 0; line < kLanes / 4; ++line) {
        hwy::Prefetch(next + next_at);
        next_at += kLine;
        if (next_at >= dim) next += stride, next_at = 0;
      }
      V transposed[kTransposed<T>];
      TransposeRows(d, keys + k, stride, transposed);
#pragma GCC unroll 8
      for (int j = 0; j < kTransposed<T>; ++j) {
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
          acc[i] = hn::MulAdd(hn::Set(d, query[(k + j) * kRows + i]), transposed[j], acc[i]);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) hn::StoreU(acc[i], d, scores + i * kBlockKeys + key);
  }
}

template <typename T>
void ScoreStream(int64_t rows, const float* query, const T* keys, int64_t stride, int64_t dim, float* scores) {
#define WICK_CALL(n) ScoreStreamRows<n>(query, keys, stride, dim, scores)
  WICK_ROWS(rows, WICK_CALL)
#undef WICK_CALL
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
