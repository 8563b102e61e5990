#pragma once

#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/packed_fragments.cuh"

// Products with packed weights are products with the f16 numbers that Pairs makes of them, and activations in f16, in
// the order of packed_fragments.cuh.
// Each row of x is first multiplied by a power of two that brings its largest magnitude to 2^11 or below, so that f16
// holds it whatever its range; the result is multiplied back.
namespace wick::cuda {

inline constexpr int kSuper = 256;  // columns within which the order changes; rows are filled up with zeros
__host__ __device__ inline int64_t packed_columns(int64_t k) { return (k + kSuper - 1) / kSuper * kSuper; }

// 2^e with largest * 2^e in [2^10, 2^11); 1 for zeros and for what is not finite.
__device__ __forceinline__ float row_factor(float largest) {
  constexpr int kTopExponent = 11;
  if (!(largest > 0) || largest > 3.0e38f) return 1;
  const int exponent = ilogbf(largest);
  return exp2f(static_cast<float>(min(max(kTopExponent - 1 - exponent, -126), 126)));
}

// Four neighbouring columns of x, as places 2t and 2t + 8 of a step.
__device__ __forceinline__ uint2 ordered(float4 four, float factor) {
  return {round_pair<__half>(four.x * factor, four.z * factor), round_pair<__half>(four.y * factor, four.w * factor)};
}

// Where they lie in a row in f16 of which a lane reads two steps at once.
__host__ __device__ __forceinline__ int fragment_byte(Order order, int column) {
  const int place = place_in(order, column), step = place / 4, t = place % 4;
  return step / 2 * 64 + t * 16 + step % 2 * 8;
}

// Rows of x in f16, [m, ld], and 1 / factor of each. `by_lanes`: as fragment_byte says, else step after step.
void scale_rows(Device device, const WeightPlan& plan, Order order, bool by_lanes, int64_t ld, __half* out,
                float* inverses);

template <typename X>
__device__ __forceinline__ void store_product(const WeightJob& job, int64_t token, int64_t row, float product) {
  const int64_t at = token * job.n + row;
  if (job.bias) product += job.bias[row];
  if (job.residual) product += job.residual[at];
  static_cast<X*>(job.out)[at] = to<X>(product);
}

// Both read the blocks as they are, of formats that have Fragments: any rows of x, at best as many as there is room for
// at once, or at most 64 on devices of compute capability 9.
bool has_room_for_packed_rows(const Runtime& use, const WeightPlan& plan, int64_t rows);
void multiply_packed_rows(Device device, const WeightPlan& plan);
void multiply_packed_tiles(Device device, const WeightPlan& plan);
// The same for one row of x on devices of compute capability 9, where the copy engine can fetch whole rows.
bool fits_packed_stream(const Runtime& use, const WeightPlan& plan);
void multiply_packed_stream(Device device, const WeightPlan& plan);

}  // namespace wick::cuda
