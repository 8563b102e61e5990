#include "backends/cpu/transpose.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/transpose.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

namespace {

using Block = uint32_t[cpu::kTransposeBlock][cpu::kTransposeBlock];

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

}  // namespace

void TransposeBlock(const uint32_t* in, int64_t in_stride, uint32_t* out, int64_t out_stride, bool streams,
                    const uint32_t* next) {
  alignas(64) Block block;
  for (int j = 0; j < 16; ++j) hwy::Prefetch(next + j * in_stride);
  ReadBlock(in, in_stride, block);
  TransposeFrom(block, out, out_stride, streams);
}

void CumsumBlock(const float* in, int64_t stride, float* out, int64_t out_stride, bool streams,
                 double* HWY_RESTRICT totals) {
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
