#pragma once

#include "backends/cuda/gemm/weight_tiles.cuh"
#include "backends/cuda/quant/packed_plan.cuh"

// Packed weights as matmul_packed_hopper.cu takes them, made once for all rows of x. Formats by 256: steps times codes,
// as low + 64 high in two planes of bytes. Those by 32: codes in f16, of which the tensor cores make sums in f32 that
// are exact and need not be converted. Rows lie in the order of tiles of kPlaneTile; gated: half of a tile is gate's,
// the other half the same rows of up.
namespace wick::cuda {

inline constexpr int kPlaneTile = 96;

template <bool kBy32>
inline constexpr int kPlanes = kBy32 ? 1 : 2;
template <bool kBy32>
inline constexpr int kCodeBytes = kBy32 ? 2 : 1;  // of a column, of x and of a plane

// What the sums of a tile's rows are multiplied with, of a super-block that has kMinima.
template <bool kBy32, int kMinima>
struct TileScales {
  float2 scales[kPlaneTile];  // of the sum, of the minima
  __half mins[kPlaneTile][kMinima];
};
template <>
struct TileScales<false, 0> {
  float2 scales[kPlaneTile];
};
template <>
struct TileScales<true, 0> {
  float steps[8][kPlaneTile];  // of groups; rows at scale_place
};
template <>
struct TileScales<true, 8> {
  float steps[8][kPlaneTile], mins[8][kPlaneTile];
};
// A thread has pairs of rows 8 apart; those of two pairs lie together.
__host__ __device__ __forceinline__ int scale_place(int row) {
  return row / 16 * 16 + row % 8 / 2 * 4 + row / 8 % 2 * 2 + row % 2;
}

// Where sums stand for an offset planes need none.
template <typename Format>
inline constexpr int kMinimaOf = [] {
  if constexpr (Format::kBy32) {
    return Format::kSums;
  } else {
    return Format::kUsesSums && Format::kOffset == 0 ? Format::kSums : 0;
  }
}();
template <typename Format>
using TileScalesOf = TileScales<Format::kBy32, kMinimaOf<Format>>;

// Where a row of a job lies among the planes' rows.
__host__ __device__ __forceinline__ int64_t plane_row(const WeightPlan& plan, int job, int64_t row) {
  constexpr int kHalf = kPlaneTile / 2;
  if (plan.gated) return row / kHalf * kPlaneTile + job * kHalf + row % kHalf;
  int64_t before = 0;
  for (int i = 0; i < job; ++i) before += tiles_of_job<kPlaneTile>(plan, i);
  return before * kPlaneTile + row;
}

// planes: [kPlanes, rows, packed_columns(k)], tile_scales: [super_blocks, tiles].
void unpack_planes(Device device, const WeightPlan& plan, int64_t rows, char* planes, char* tile_scales);

}  // namespace wick::cuda
