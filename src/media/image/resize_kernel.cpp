#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "media/image/resize_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "media/image/resize_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void plain_rows(const uint8_t* rows, ptrdiff_t stride, const int32_t* weights, int taps, int precision, size_t count,
                uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t sum = uint32_t{1} << (precision - 1);  // wraps on the way; the end fits
    for (int t = 0; t < taps; ++t)
      sum += static_cast<uint32_t>(weights[t]) * rows[t * stride + static_cast<ptrdiff_t>(i)];
    out[i] = static_cast<uint8_t>(std::clamp(static_cast<int32_t>(sum) >> precision, 0, 255));
  }
}

#if HWY_TARGET != HWY_SCALAR
using D8 = hn::CappedTag<uint8_t, 32>;
using D16 = hn::Repartition<int16_t, D8>;
using D32 = hn::Repartition<int32_t, D8>;
using V32 = hn::Vec<D32>;

// Sums of products of neighbouring 16-bit lanes.
struct Sums {
  V32 first, second;
};
HWY_INLINE void add(hn::Vec<D16> pixels, hn::Vec<D16> weights, Sums& sums) {
  sums.first = hn::ReorderWidenMulAccumulate(D32(), pixels, weights, sums.first, sums.second);
}
HWY_INLINE V32 total(const Sums& sums) { return hn::RearrangeToOddPlusEven(sums.first, sums.second); }

// Two weights in every 32 bits, the lower one first.
HWY_INLINE hn::Vec<D16> weight_pair(int32_t a, int32_t b) {
  const uint32_t both = (static_cast<uint32_t>(a) & 0xFFFF) | static_cast<uint32_t>(b) << 16;
  return hn::BitCast(D16(), hn::Set(D32(), static_cast<int32_t>(both)));
}

// Weights of more than 16 bits are cut into 15 low bits and the rest: both fit, and the sums are put together modulo
// 2^32, where they are exact.
template <bool kNarrow>
HWY_INLINE void one_vector(const uint8_t* rows, ptrdiff_t stride, const int32_t* weights, int taps, int precision,
                           uint8_t* out) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  const auto zero = hn::Zero(d8);
  Sums low[4], high[4];
  for (int i = 0; i < 4; ++i) low[i].first = low[i].second = high[i].first = high[i].second = hn::Zero(d32);
  for (int t = 0; t < taps; t += 2) {
    const bool has_second = t + 1 < taps;
    const auto a = hn::LoadU(d8, rows + t * stride);
    const auto b = has_second ? hn::LoadU(d8, rows + (t + 1) * stride) : zero;
    const int32_t weight_a = weights[t], weight_b = has_second ? weights[t + 1] : 0;
    const auto lower = hn::InterleaveLower(d8, a, b), upper = hn::InterleaveUpper(d8, a, b);
    const auto x0 = hn::BitCast(d16, hn::InterleaveLower(d8, lower, zero));
    const auto x1 = hn::BitCast(d16, hn::InterleaveUpper(d8, lower, zero));
    const auto x2 = hn::BitCast(d16, hn::InterleaveLower(d8, upper, zero));
    const auto x3 = hn::BitCast(d16, hn::InterleaveUpper(d8, upper, zero));
    if constexpr (kNarrow) {
      const auto pair = weight_pair(weight_a, weight_b);
      add(x0, pair, low[0]);
      add(x1, pair, low[1]);
      add(x2, pair, low[2]);
      add(x3, pair, low[3]);
    } else {
      const auto low_pair = weight_pair(weight_a & 0x7FFF, weight_b & 0x7FFF);
      const auto high_pair = weight_pair(weight_a >> 15, weight_b >> 15);
      add(x0, low_pair, low[0]);
      add(x1, low_pair, low[1]);
      add(x2, low_pair, low[2]);
      add(x3, low_pair, low[3]);
      add(x0, high_pair, high[0]);
      add(x1, high_pair, high[1]);
      add(x2, high_pair, high[2]);
      add(x3, high_pair, high[3]);
    }
  }
  const auto half = hn::Set(d32, int32_t{1} << (precision - 1));
  const auto finish = [&](int i) HWY_ATTR {
    auto sum = hn::Add(total(low[i]), half);
    if constexpr (!kNarrow) sum = hn::Add(sum, hn::ShiftLeft<15>(total(high[i])));
    return hn::ShiftRightSame(sum, precision);
  };
  const auto in_a_byte = [&](hn::Vec<D16> x) HWY_ATTR {
    return hn::BitCast(d8, hn::Min(hn::Max(x, hn::Zero(d16)), hn::Set(d16, 255)));
  };
  // The order within blocks of 16 bytes is that of the bytes; of each 16-bit lane the lower byte is wanted.
  const auto first = in_a_byte(hn::ReorderDemote2To(d16, finish(0), finish(1)));
  const auto second = in_a_byte(hn::ReorderDemote2To(d16, finish(2), finish(3)));
  alignas(16) static constexpr uint8_t kToLower[16] = {0,    2,    4,    6,    8,    10,   12,   14,
                                                       0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
  alignas(16) static constexpr uint8_t kToUpper[16] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                                       0,    2,    4,    6,    8,    10,   12,   14};
  const auto bytes = hn::Or(hn::TableLookupBytesOr0(first, hn::LoadDup128(d8, kToLower)),
                            hn::TableLookupBytesOr0(second, hn::LoadDup128(d8, kToUpper)));
  hn::StoreU(bytes, d8, out);
}

template <bool kNarrow>
void rows_of_vectors(const uint8_t* rows, ptrdiff_t stride, const int32_t* weights, int taps, int precision,
                     size_t count, uint8_t* out) {
  const size_t lanes = hn::Lanes(D8());
  if (count < lanes) return plain_rows(rows, stride, weights, taps, precision, count, out);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) one_vector<kNarrow>(rows + i, stride, weights, taps, precision, out + i);
  if (i == count) return;
  i = count - lanes;
  one_vector<kNarrow>(rows + i, stride, weights, taps, precision, out + i);
}

void transpose_block(const uint8_t* in, ptrdiff_t in_stride, uint8_t* out, ptrdiff_t out_stride) {
  const hn::FixedTag<uint8_t, 16> d;
  using V = hn::Vec<decltype(d)>;
  V x[16], y[16];
  for (int i = 0; i < 16; ++i) x[i] = hn::LoadU(d, in + i * in_stride);
  // Four times the same: rows i and i + 8 are interleaved.
  const auto interleave = [&](const V* from, V* to) HWY_ATTR {
    for (int i = 0; i < 8; ++i) {
      to[2 * i] = hn::InterleaveLower(d, from[i], from[i + 8]);
      to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + 8]);
    }
  };
  interleave(x, y);
  interleave(y, x);
  interleave(x, y);
  interleave(y, x);
  for (int i = 0; i < 16; ++i) hn::StoreU(x[i], d, out + i * out_stride);
}
#endif

void weighted_rows_here(const uint8_t* rows, ptrdiff_t stride, const int32_t* weights, int taps, int precision,
                        bool narrow, size_t count, uint8_t* out) {
#if HWY_TARGET == HWY_SCALAR
  (void)narrow;
  plain_rows(rows, stride, weights, taps, precision, count, out);
#else
  if (narrow) {
    rows_of_vectors<true>(rows, stride, weights, taps, precision, count, out);
  } else {
    rows_of_vectors<false>(rows, stride, weights, taps, precision, count, out);
  }
#endif
}

void transpose_bytes_here(const uint8_t* in, ptrdiff_t in_stride, int rows, int columns, uint8_t* out,
                          ptrdiff_t out_stride) {
  int whole_rows = 0, whole_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  whole_rows = rows / 16 * 16;
  whole_columns = columns / 16 * 16;
  for (int column = 0; column < whole_columns; column += 16) {
    for (int row = 0; row < whole_rows; row += 16) {
      transpose_block(in + row * in_stride + column, in_stride, out + column * out_stride + row, out_stride);
    }
  }
#endif
  for (int row = 0; row < rows; ++row) {
    for (int column = row < whole_rows ? whole_columns : 0; column < columns; ++column) {
      out[column * out_stride + row] = in[row * in_stride + column];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {

HWY_EXPORT(weighted_rows_here);
HWY_EXPORT(transpose_bytes_here);

void weighted_rows(const uint8_t* rows, ptrdiff_t stride, const int32_t* weights, int taps, int precision, bool narrow,
                   size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(weighted_rows_here)(rows, stride, weights, taps, precision, narrow, count, out);
}

void transpose_bytes(const uint8_t* in, ptrdiff_t in_stride, int rows, int columns, uint8_t* out,
                     ptrdiff_t out_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_bytes_here)(in, in_stride, rows, columns, out, out_stride);
}

}  // namespace wick
#endif
