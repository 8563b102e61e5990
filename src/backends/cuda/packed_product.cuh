#pragma once

#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/packed_plan.cuh"
#include "backends/cuda/weight_tiles.cuh"

// What the kernels that multiply packed weights as they are have in common. A warp has 16 rows of weights at a time and
// copies their blocks to shared memory itself.
namespace wick::cuda {

inline constexpr int kRows = 16;
inline constexpr int kHalfBytes = kSuper;  // of x in f16, of half a super

// A warp's stage: 256 weights of each of its rows.
template <typename Block>
struct Stage {
  static constexpr int kBytes = Fragments<Block>::kBytes;
  // Of a row; one that starts anywhere within 16 bytes brings up to 30 more.
  static constexpr int kPitch = Fragments<Block>::kWhole ? kBytes : (kBytes + 15 + 15) / 16 * 16;
  static constexpr int kTotal = kRows * kPitch;
};

// The columns of one part of k, and the supers that they lie in.
struct PartOfColumns {
  int begin, end, first_super, last_super;

  __device__ PartOfColumns(int padded, int size, int part)
      : begin(min(padded, part * size)), end(min(padded, begin + size)) {
    first_super = begin / kSuper;
    last_super = end > begin ? (end + kSuper - 1) / kSuper : first_super;
  }
  // A bit for each quarter of a super that is of the part.
  __device__ uint32_t quarters(int super) const {
    const int column = super * kSuper;
    uint32_t bits = 0;
    for (int q = 0; q < 4; ++q) bits |= column + q * 64 >= begin && column + q * 64 < end ? 1u << q : 0;
    return bits;
  }
};

// How far behind a multiple of 16 a row's blocks begin in memory, and thus in a stage.
template <typename Block>
__device__ __forceinline__ int low_bits(const uint8_t* row) {
  return Fragments<Block>::kWhole ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(row) & 15);
}

// Four lanes t copy a row's blocks, in chunks of 16 bytes at their own alignment: up to 15 bytes before and behind them
// come along, all within the matrix's memory.
template <typename Block>
__device__ __forceinline__ void copy_row(const uint8_t* row, uint32_t place, int bytes, int t) {
  constexpr bool kWhole = Fragments<Block>::kWhole;
  constexpr int kChunks = Stage<Block>::kPitch / 16, kCopies = (kChunks + 3) / 4;
  const int shift = low_bits<Block>(row), until = shift + bytes - t * 16;
  const uint8_t* from = row - shift + t * 16;
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const bool inside = kWhole ? i * 4 + 3 < kChunks || i * 4 + t < kChunks : i * 64 < until;
    if (inside) copy_async(place + static_cast<uint32_t>(t * 16 + i * 64), from + i * 64);
  }
}

// sum += 16 rows of weights x 8 kTiles rows of x, over the quarters that are wanted of half h of a super. Of lane 4g +
// t: rows g and g + 8 of the weights with their scales, and where row g of x has what lane t needs of the half; each 8
// rows of x are tile_bytes apart.
template <typename Format, bool kAligned, int kTiles, typename Scales, typename Wanted>
__device__ __forceinline__ void multiply_half(float (&sum)[kTiles][4], const uint8_t* upper, const uint8_t* lower,
                                              const Scales& upper_scales, const Scales& lower_scales, int h, int t,
                                              const char* x, int tile_bytes, const Wanted& wanted) {
  uint32_t upper_raw[Format::kWords], lower_raw[Format::kWords];
  Format::template load<kAligned>(upper, h, t, upper_raw);
  Format::template load<kAligned>(lower, h, t, lower_raw);
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    if (!wanted(q)) continue;
#pragma unroll
    for (int two = 0; two < 2; ++two) {
      uint32_t a[2][4];
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const FragmentPairs up = Format::pairs(upper_raw, h, q, two * 2 + s, upper_scales);
        const FragmentPairs low = Format::pairs(lower_raw, h, q, two * 2 + s, lower_scales);
        a[s][0] = up.low;
        a[s][1] = low.low;
        a[s][2] = up.high;
        a[s][3] = low.high;
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const uint4 b = *reinterpret_cast<const uint4*>(x + tile * tile_bytes + (q * 2 + two) * 64);
        mma<__half>(sum[tile], a[0], b.x, b.y);
        mma<__half>(sum[tile], a[1], b.z, b.w);
      }
    }
  }
}

// Both halves; `left` blocks of the row are there.
template <typename Format, bool kAligned, int kTiles, typename Wanted>
__device__ __forceinline__ void multiply_quarters(float (&sum)[kTiles][4], const uint8_t* upper, const uint8_t* lower,
                                                  int t, int left, const char* x, int tile_bytes,
                                                  const Wanted& wanted) {
  const auto upper_scales = Format::template scales<kAligned>(upper, t, left);
  const auto lower_scales = Format::template scales<kAligned>(lower, t, left);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    multiply_half<Format, kAligned>(sum, upper, lower, upper_scales, lower_scales, h, t, x + h * kHalfBytes, tile_bytes,
                                    [&](int quarter) { return wanted(h * 2 + quarter); });
  }
}

// The same, `quarters` a bit for each.
template <typename Format, bool kAligned, int kTiles>
__device__ __forceinline__ void multiply_super(float (&sum)[kTiles][4], const uint8_t* upper, const uint8_t* lower,
                                               int t, int left, const char* x, int tile_bytes, uint32_t quarters) {
  if (quarters == 15) {
    multiply_quarters<Format, kAligned>(sum, upper, lower, t, left, x, tile_bytes, [](int) { return true; });
  } else {
    multiply_quarters<Format, kAligned>(sum, upper, lower, t, left, x, tile_bytes,
                                        [&](int quarter) { return (quarters >> quarter & 1) != 0; });
  }
}

// Makes the row of x of a plan without an activation in shared memory, in f16: where(column) is the place of four
// columns. By the first kThreads threads; returns 1 / factor.
template <typename X, typename Where>
__device__ __forceinline__ float place_row(const WeightPlan& plan, typename InputRow<X, true, false>::Shared& reduced,
                                           const typename InputRow<X, true, false>::Norm& norm, const Where& where) {
  const InputRow<X, true, false> row(plan, 0, reduced, norm);
  const float factor = row_factor(row.most());
  row.each(
      [&](int64_t at, float4 four) { *reinterpret_cast<uint2*>(where(static_cast<int>(at))) = ordered(four, factor); });
  return 1 / factor;
}
// How far a thread's columns are moved by their order; they are whole supers apart.
__device__ __forceinline__ int moved_bytes(Order order) {
  static_assert(kThreads * 4 % kSuper == 0);
  const int own = static_cast<int>(threadIdx.x) * 4;
  return fragment_byte(order, own) - own * 2;
}

// Body(Block{}, X{}) for formats that have Fragments.
template <typename Body>
void visit_fragments(const WeightPlan& plan, const Body& body) {
  visit_packed(plan.dtype, [&](auto block) {
    if constexpr (Fragments<decltype(block)>::kKnown) {
      if (plan.x_dtype == DType::kF32) return body(block, float{});
      plan.x_dtype == DType::kF16 ? body(block, __half{}) : body(block, __nv_bfloat16{});
    }
  });
}

}  // namespace wick::cuda
