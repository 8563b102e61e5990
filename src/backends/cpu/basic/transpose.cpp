#include "backends/cpu/basic/transpose.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/basic/transpose.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

namespace {

using Block = uint32_t[cpu::kTransposeBlock][cpu::kTransposeBlock];

#undef WICK_BLOCK_IN_REGISTERS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define WICK_BLOCK_IN_REGISTERS 1

HWY_INLINE void Transpose(__m512 (&rows)[16]) {
  __m512 made[16];
  for (int g = 0; g < 16; g += 4) {  // 4 x 4 within the quarters of four rows
    const __m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(rows[g], rows[g + 1]));
    const __m512d cd = _mm512_castps_pd(_mm512_unpacklo_ps(rows[g + 2], rows[g + 3]));
    const __m512d ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(rows[g], rows[g + 1]));
    const __m512d cd_high = _mm512_castps_pd(_mm512_unpackhi_ps(rows[g + 2], rows[g + 3]));
    made[g] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
    made[g + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
    made[g + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high));
    made[g + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high));
  }
  for (int k = 0; k < 4; ++k) {  // then the quarters
    const __m512 even0 = _mm512_shuffle_f32x4(made[k], made[k + 4], 0x88);
    const __m512 even1 = _mm512_shuffle_f32x4(made[k + 8], made[k + 12], 0x88);
    const __m512 odd0 = _mm512_shuffle_f32x4(made[k], made[k + 4], 0xdd);
    const __m512 odd1 = _mm512_shuffle_f32x4(made[k + 8], made[k + 12], 0xdd);
    rows[k] = _mm512_shuffle_f32x4(even0, even1, 0x88);
    rows[k + 4] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
    rows[k + 8] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
    rows[k + 12] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
  }
}
HWY_INLINE void ReadRows(const void* in, int64_t stride, __m512 (&rows)[16]) {
  for (int j = 0; j < 16; ++j) rows[j] = _mm512_loadu_ps(static_cast<const float*>(in) + j * stride);
}
HWY_INLINE void WriteRows(const __m512 (&rows)[16], void* out, int64_t stride, bool streams) {
  for (int i = 0; i < 16; ++i) {
    float* to = static_cast<float*>(out) + i * stride;
    streams ? _mm512_stream_ps(to, rows[i]) : _mm512_storeu_ps(to, rows[i]);
  }
}

#else
#define WICK_BLOCK_IN_REGISTERS 0
// From a block that lies densely, in pieces of 4 x 4.
HWY_INLINE void TransposeFrom(const Block& block, uint32_t* out, int64_t out_stride, bool streams) {
#if HWY_TARGET == HWY_SCALAR
  (void)streams;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) out[i * out_stride + j] = block[j][i];
  }
#else
  const hn::FixedTag<uint32_t, 4> d;
  for (int i = 0; i < 16; i += 4) {
    hn::Vec<decltype(d)> made[4][4];
    for (int j = 0; j < 4; ++j) {
      const auto a = hn::Load(d, block[4 * j] + i), b = hn::Load(d, block[4 * j + 1] + i);
      const auto c = hn::Load(d, block[4 * j + 2] + i), e = hn::Load(d, block[4 * j + 3] + i);
      const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
      const auto ac_high = hn::InterleaveUpper(d, a, c), be_high = hn::InterleaveUpper(d, b, e);
      made[0][j] = hn::InterleaveLower(d, ac, be);
      made[1][j] = hn::InterleaveUpper(d, ac, be);
      made[2][j] = hn::InterleaveLower(d, ac_high, be_high);
      made[3][j] = hn::InterleaveUpper(d, ac_high, be_high);
    }
    for (int k = 0; k < 4; ++k) {
      uint32_t* line = out + (i + k) * out_stride;
      if (streams) {
        for (int j = 0; j < 4; ++j) hn::Stream(made[k][j], d, line + 4 * j);
      } else {
        for (int j = 0; j < 4; ++j) hn::StoreU(made[k][j], d, line + 4 * j);
      }
    }
  }
#endif
}

// Rows far apart may share one place in the cache: each line is read once, into a block of its own.
HWY_INLINE void ReadBlock(const uint32_t* in, int64_t stride, Block& block) {
  for (int j = 0; j < 16; ++j) std::memcpy(block[j], in + j * stride, sizeof(block[j]));
}

#endif

}  // namespace

void TransposeBlock(const uint32_t* in, int64_t in_stride, uint32_t* out, int64_t out_stride, bool streams,
                    const uint32_t* next) {
  for (int j = 0; j < 16; ++j) hwy::Prefetch(next + j * in_stride);
#if WICK_BLOCK_IN_REGISTERS
  __m512 rows[16];
  ReadRows(in, in_stride, rows);
  Transpose(rows);
  WriteRows(rows, out, out_stride, streams);
#else
  alignas(64) Block block;
  ReadBlock(in, in_stride, block);
  TransposeFrom(block, out, out_stride, streams);
#endif
}

void CumsumBlock(const float* in, int64_t stride, float* out, int64_t out_stride, bool streams,
                 double* HWY_RESTRICT totals) {
#if WICK_BLOCK_IN_REGISTERS
  for (int j = 0; j < 16; ++j) hwy::Prefetch(in + j * stride + 64);
  __m512 rows[16];
  ReadRows(in, stride, rows);
  Transpose(rows);
  __m512d low = _mm512_loadu_pd(totals), high = _mm512_loadu_pd(totals + 8);
  for (auto& row : rows) {
    low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(row)));
    high = _mm512_add_pd(high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(row, 1)));
    row = _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
  }
  _mm512_storeu_pd(totals, low);
  _mm512_storeu_pd(totals + 8, high);
  Transpose(rows);
  WriteRows(rows, out, out_stride, streams);
#else
  alignas(64) Block block, columns;
  ReadBlock(reinterpret_cast<const uint32_t*>(in), stride, block);
  TransposeFrom(block, columns[0], 16, false);
  for (auto& bits : columns) {
    alignas(64) float column[16];
    std::memcpy(column, bits, sizeof(column));
    for (int k = 0; k < 16; ++k) {
      totals[k] += static_cast<double>(column[k]);
      column[k] = static_cast<float>(totals[k]);
    }
    std::memcpy(bits, column, sizeof(column));
  }
  TransposeFrom(columns, reinterpret_cast<uint32_t*>(out), out_stride, streams);
#endif
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(TransposeBlock);
HWY_EXPORT(CumsumBlock);
}  // namespace wick

namespace wick::cpu {

void transpose_block(const uint32_t* in, int64_t in_stride, uint32_t* out, int64_t out_stride, bool streams,
                     const uint32_t* next) {
  HWY_DYNAMIC_DISPATCH(TransposeBlock)(in, in_stride, out, out_stride, streams, next);
}
void cumsum_block(const float* in, int64_t stride, float* out, int64_t out_stride, bool streams, double* totals) {
  HWY_DYNAMIC_DISPATCH(CumsumBlock)(in, stride, out, out_stride, streams, totals);
}

}  // namespace wick::cpu
#endif  // HWY_ONCE
