#pragma once

#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/quant/codes_by_32.cuh"
#include "backends/cuda/quant/codes_by_codebook.cuh"

// Activation quantisation: rows that meet packed weights, rounded to 8 bits, with one scale for each 32 or 256 columns.
namespace wick::cuda {

// Scales of a super-block of 256 columns, and kSums sums of its codes.
template <bool kBy32, int kSums>
struct alignas(16) InputScales {
  float scale;
  uint32_t unused[3];
  uint32_t low[kSums / 4], high[kSums / 4];  // four bytes each: low + 64 high is a sum; high has a sign
  __device__ __forceinline__ void keep(int at, int sum) {
    reinterpret_cast<uint8_t*>(low)[at] = static_cast<uint8_t>(sum & 63);
    reinterpret_cast<uint8_t*>(high)[at] = static_cast<uint8_t>(sum >> 6);
  }
};
template <>
struct alignas(16) InputScales<true, 0> {
  float scales[8];  // of groups of 32
  __device__ __forceinline__ float sum(int) const { return 0; }
};
template <>
struct alignas(16) InputScales<true, 8> {
  float scales[8];
  float sums[8];  // times the scales
  __device__ __forceinline__ float sum(int group) const { return sums[group]; }
};
template <typename Format>
using InputScalesOf = InputScales<Format::kBy32, Format::kSums>;

__device__ __forceinline__ uint32_t magnitude(float4 x) {  // as bits, so that infinity and NaN win
  const auto bits = [](float one) { return __float_as_uint(one) & 0x7fffffffu; };
  return max(max(bits(x.x), bits(x.y)), max(bits(x.z), bits(x.w)));
}

// A scale and what codes are made with. Numbers that are not finite make the scale NaN.
struct CodeScale {
  float scale, inverse;
  __device__ __forceinline__ explicit CodeScale(uint32_t largest) {
    constexpr float kLargestCode = 127, kSmallestNormal = 1.17549435e-38f;
    const float most = __uint_as_float(largest), near = __fmul_rn(most, 1 / kLargestCode);
    scale = __fmaf_rn(__fmaf_rn(-kLargestCode, near, most), 1 / kLargestCode, near);  // the quotient, rounded
    float about = 0;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(about) : "f"(scale));
    inverse = __fmaf_rn(__fmaf_rn(-scale, about, 1.0f), about, about);
    if (scale < kSmallestNormal) inverse = 0;
    if (largest >= 0x7f800000u) scale = __uint_as_float(0x7fc00000u);
  }
  // Four codes; the last bits of a float from 2^23 on are a whole number.
  __device__ __forceinline__ uint32_t codes(float4 x) const {
    const auto code = [&](float one) { return __float_as_uint(__fadd_rn(__fmul_rn(one, inverse), 12582912.0f)); };
    return pack_bytes(code(x.x), code(x.y), code(x.z), code(x.w));
  }
};

// Of kLanes lanes, of which each has four columns.
template <int kLanes, typename Number, typename Combine>
__device__ __forceinline__ Number over_lanes(Number of, const Combine& combine) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) of = combine(of, __shfl_xor_sync(0xffffffffu, of, step));
  return of;
}

// Makes the codes and scales of some super-blocks, those below `count`, by a warp: of each lane's columns x has those
// from 4 lane on and from 128 + 4 lane on.
template <typename Format, Order kOrder, int kCount, typename CodesOf, typename ScalesOf>
__device__ __forceinline__ void pack_super_blocks(const int (&super_blocks)[kCount], const float4 (&x)[kCount][2],
                                                  int count, const CodesOf& codes, const ScalesOf& scales) {
  constexpr int kLanes = Format::kSums > 0 ? kSuperBlock / Format::kSums / 4 : 8;  // that have the columns of a sum
  const int lane = threadIdx.x % 32, place = place_of_columns(kOrder, lane * 4);
  uint32_t most[kCount][2], four[kCount][2];
  float scale[kCount][2];
  int sum[kCount][2];
#pragma unroll
  for (int s = 0; s < kCount; ++s) {
    for (int half = 0; half < 2; ++half) most[s][half] = magnitude(x[s][half]);
    if constexpr (Format::kBy32) {
      for (uint32_t& of : most[s]) of = over_lanes<8>(of, [](uint32_t a, uint32_t b) { return max(a, b); });
    } else {
      most[s][0] = most[s][1] = __reduce_max_sync(0xffffffffu, max(most[s][0], most[s][1]));
    }
  }
#pragma unroll
  for (int i = 0; i < 2 * kCount; ++i) {
    const int s = i / 2, half = i % 2;
    const CodeScale by(most[s][half]);
    scale[s][half] = by.scale;
    four[s][half] = by.codes(x[s][half]);
  }
  if constexpr (Format::kSums > 0) {
#pragma unroll
    for (int s = 0; s < kCount; ++s) {  // both halves at once, in 16 bits each
      const auto of = [&](int half) { return __dp4a(static_cast<int>(four[s][half]), 0x01010101, 0); };
      const int both = over_lanes<kLanes>(of(0) + of(1) * 65536, [](int a, int b) { return a + b; });
      sum[s][0] = static_cast<int16_t>(both);
      sum[s][1] = (both - sum[s][0]) >> 16;
    }
  }
#pragma unroll
  for (int i = 0; i < 2 * kCount; ++i) {
    const int s = i / 2, half = i % 2;
    if (super_blocks[s] >= count) break;
    char* const places = codes(super_blocks[s]) + place;
    auto* const to = scales(super_blocks[s]);
    if constexpr (kOrder == Order::kHalves) {
      *reinterpret_cast<uint2*>(places + half * kSuperBlock) = halves_of(four[s][half]);
    } else {
      *reinterpret_cast<uint32_t*>(places + half * (kSuperBlock / 2)) =
          four[s][half];  // places are half a super-block behind, too
    }
    if (lane % kLanes != 0) continue;
    const int at = (half * 32 + lane) / kLanes;
    if constexpr (Format::kBy32) {
      to->scales[at] = scale[s][half];
      if constexpr (Format::kSums > 0) to->sums[at] = __fmul_rn(static_cast<float>(sum[s][half]), scale[s][half]);
    } else {
      if (at == 0) to->scale = scale[s][half];
      to->keep(at, sum[s][half]);
    }
  }
}

// Makes the codes and scales of a row of `super_blocks`, by the first kThreads threads. codes(super_block) and
// scales(super_block) are their places.
template <typename Format, Order kOrder = Format::kOrder, typename Row, typename CodesOf, typename ScalesOf>
__device__ __forceinline__ void pack_row(const Row& row, int super_blocks, const CodesOf& codes,
                                         const ScalesOf& scales) {
  row.each_stretches(super_blocks, [&](const auto& stretches, const auto& x) {
    pack_super_blocks<Format, kOrder>(stretches, x, super_blocks, codes, scales);
  });
}

}  // namespace wick::cuda
