#pragma once

#include "backends/cuda/launch.cuh"
#include "ops/fused_kernels.h"

namespace wick::cuda {

// HeadTurns for kernels.
struct TurnPlan {
  const float *query_weight, *key_weight, *cos, *sin;
  int pairs;
  float eps;
  bool interleaved;
};

inline TurnPlan make_turn_plan(const HeadTurns& turns) {
  return {data_or_null<const float>(turns.query_weight),
          data_or_null<const float>(turns.key_weight),
          data_or_null<const float>(turns.cos),
          data_or_null<const float>(turns.sin),
          turns.cos.defined() ? static_cast<int>(turns.cos.dim(1)) : 0,
          turns.eps,
          turns.interleaved};
}

// How every kernel rounds: as rms_norm and rope do, up to fused multiply-adds.
__device__ __forceinline__ float norm_factor(float square, int dim, float eps) {
  return 1.0f / sqrtf(square / static_cast<float>(dim) + eps);
}
__device__ __forceinline__ float normed(float x, float factor, float weight) {
  return __fmul_rn(__fmul_rn(x, factor), weight);
}
__device__ __forceinline__ float2 turned(float a, float b, float cos, float sin) {
  return {__fmaf_rn(a, cos, -__fmul_rn(b, sin)), __fmaf_rn(a, sin, __fmul_rn(b, cos))};
}

// A head of a token normed and turned by a warp, put(d, component) for each.
template <typename Put>
__device__ __forceinline__ void turn_head(const TurnPlan& plan, const float* from, int dim, const float* weight,
                                          int token, const Put& put) {
  const int lane = threadIdx.x % 32;
  float factor = 1;
  if (weight) {
    float square = 0;
    for (int d = lane; d < dim; d += 32) square = __fmaf_rn(from[d], from[d], square);
    factor = norm_factor(warp_sum(square), dim, plan.eps);
  }
  const auto at = [&](int d) { return weight ? normed(from[d], factor, weight[d]) : from[d]; };
  for (int i = lane; i < plan.pairs; i += 32) {
    const int first = plan.interleaved ? 2 * i : i, second = plan.interleaved ? 2 * i + 1 : i + plan.pairs;
    const float2 both =
        turned(at(first), at(second), plan.cos[token * plan.pairs + i], plan.sin[token * plan.pairs + i]);
    put(first, both.x);
    put(second, both.y);
  }
  for (int d = 2 * plan.pairs + lane; d < dim; d += 32) put(d, at(d));
}

// The same, with everything read at once where all components are turned in halves.
template <int kDim, typename Put>
__device__ __forceinline__ void turn_head(const TurnPlan& plan, const float* from, const float* weight, int token,
                                          const Put& put) {
  if (plan.interleaved || plan.pairs != kDim / 2) return turn_head(plan, from, kDim, weight, token, put);
  constexpr int kEach = kDim / 32, kPairs = kEach / 2;
  const int lane = threadIdx.x % 32;
  float x[kEach], scale[kEach], cos[kPairs], sin[kPairs];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    x[i] = from[lane + 32 * i];
    scale[i] = weight ? weight[lane + 32 * i] : 1;
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    cos[i] = plan.cos[token * plan.pairs + lane + 32 * i];
    sin[i] = plan.sin[token * plan.pairs + lane + 32 * i];
  }
  if (weight) {
    float square = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) square = __fmaf_rn(x[i], x[i], square);
    const float factor = norm_factor(warp_sum(square), kDim, plan.eps);
#pragma unroll
    for (int i = 0; i < kEach; ++i) x[i] = normed(x[i], factor, scale[i]);
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const float2 both = turned(x[i], x[i + kPairs], cos[i], sin[i]);
    put(lane + 32 * i, both.x);
    put(lane + 32 * i + kDim / 2, both.y);
  }
}

}  // namespace wick::cuda
