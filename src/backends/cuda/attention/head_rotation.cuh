#pragma once

#include "backends/cuda/runtime/launch.cuh"
#include "ops/layers/paged_attention.h"

namespace wick::cuda {

// HeadRotation for kernels.
struct RotationPlan {
  const float *query_weight, *key_weight, *cos, *sin;
  int pairs;
  float eps;
  bool interleaved;
};

inline RotationPlan make_rotation_plan(const HeadRotation& rotation) {
  return {data_or_null<const float>(rotation.query_weight),
          data_or_null<const float>(rotation.key_weight),
          data_or_null<const float>(rotation.cos),
          data_or_null<const float>(rotation.sin),
          rotation.cos.defined() ? static_cast<int>(rotation.cos.dim(1)) : 0,
          rotation.eps,
          rotation.interleaved};
}

// How every kernel rounds: as rms_norm and rope do, up to fused multiply-adds.
__device__ __forceinline__ float norm_factor(float square, int dim, float eps) {
  return rsqrtf(square / static_cast<float>(dim) + eps);
}
__device__ __forceinline__ float normed(float x, float factor, float weight) {
  return __fmul_rn(__fmul_rn(x, factor), weight);
}
__device__ __forceinline__ float2 rotated(float a, float b, float cos, float sin) {
  return {__fmaf_rn(a, cos, -__fmul_rn(b, sin)), __fmaf_rn(a, sin, __fmul_rn(b, cos))};
}

// A head of a token normed and rotated by a warp, put(d, component) for each.
template <typename Put>
__device__ __forceinline__ void rotate_head(const RotationPlan& plan, const float* from, int dim, const float* weight,
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
        rotated(at(first), at(second), plan.cos[token * plan.pairs + i], plan.sin[token * plan.pairs + i]);
    put(first, both.x);
    put(second, both.y);
  }
  for (int d = 2 * plan.pairs + lane; d < dim; d += 32) put(d, at(d));
}

// Where all components are rotated in halves: what a lane of a warp has of a head, components lane + 32 i, and of how a
// token rotates.
template <int kDim>
struct HalvesRotation {
  static constexpr int kEach = kDim / 32, kPairs = kEach / 2;
  float scale[kEach], cos[kPairs], sin[kPairs];

  static __host__ __device__ __forceinline__ bool fits(const RotationPlan& plan) {
    return kDim % 64 == 0 && !plan.interleaved && plan.pairs == kDim / 2;
  }
  __device__ __forceinline__ void read_weight(const float* weight) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) scale[i] = weight ? weight[threadIdx.x % 32 + 32 * i] : 1;
  }
  __device__ __forceinline__ void read_token(const RotationPlan& plan, int token) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int at = token * plan.pairs + static_cast<int>(threadIdx.x % 32) + 32 * i;
      cos[i] = plan.cos[at];
      sin[i] = plan.sin[at];
    }
  }
  static __device__ __forceinline__ void read_head(const float* from, float (&x)[kEach]) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) x[i] = from[threadIdx.x % 32 + 32 * i];
  }
  template <typename Put>
  __device__ __forceinline__ void rotate(float (&x)[kEach], bool norms, float eps, const Put& put) const {
    if (norms) {
      float square = 0;
#pragma unroll
      for (int i = 0; i < kEach; ++i) square = __fmaf_rn(x[i], x[i], square);
      const float factor = rsqrtf(warp_sum(square) * (1.0f / kDim) + eps);  // kDim is a power of two
#pragma unroll
      for (int i = 0; i < kEach; ++i) x[i] = normed(x[i], factor, scale[i]);
    }
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float2 both = rotated(x[i], x[i + kPairs], cos[i], sin[i]);
      put(static_cast<int>(threadIdx.x % 32) + 32 * i, both.x);
      put(static_cast<int>(threadIdx.x % 32) + 32 * i + kDim / 2, both.y);
    }
  }
};

// The same as rotate_head, with everything read at once.
template <int kDim, typename Put>
__device__ __forceinline__ void rotate_halves(const RotationPlan& plan, const float* from, const float* weight,
                                              int token, const Put& put) {
  HalvesRotation<kDim> rotation;
  float x[HalvesRotation<kDim>::kEach];
  rotation.read_head(from, x);
  rotation.read_weight(weight);
  rotation.read_token(plan, token);
  rotation.rotate(x, weight != nullptr, plan.eps, put);
}

}  // namespace wick::cuda
