#pragma once

#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"

// What becomes of x before it meets weights, computed by blocks of kThreads threads, the same in every kernel.
namespace wick::cuda {

template <typename X>
__device__ __forceinline__ float4 load_four(const X* x) {
  if constexpr (std::is_same_v<X, float>) {
    return *reinterpret_cast<const float4*>(x);
  } else {
    const auto four = *reinterpret_cast<const Four<X>*>(x);
    return {widen(four.at[0]), widen(four.at[1]), widen(four.at[2]), widen(four.at[3])};
  }
}

// One row of x [m, k] after the plan's norm or activation; k is a multiple of 4.
template <typename X>
class InputRow {
 public:
  // All threads of the block; `shared` has room for 32 values.
  __device__ InputRow(const WeightPlan& plan, int64_t row, float* shared)
      : x_(static_cast<const X*>(plan.x) + row * plan.k),
        up_(plan.up ? plan.up + row * plan.k : nullptr),
        weight_(plan.norm_weight) {
    if (!weight_) return;
    float square = 0;
    for (int64_t i = threadIdx.x * 4; i < plan.k; i += kThreads * 4) {
      const float4 four = load_four(x_ + i);
      square = __fmaf_rn(four.x, four.x, square);
      square = __fmaf_rn(four.y, four.y, square);
      square = __fmaf_rn(four.z, four.z, square);
      square = __fmaf_rn(four.w, four.w, square);
    }
    square = block_combine(square, shared, 0.0f, [](float a, float b) { return a + b; });
    inverse_ = 1.0f / sqrtf(square / static_cast<float>(plan.k) + plan.eps);
  }

  __device__ __forceinline__ float4 four(int64_t i) const {
    float4 value = load_four(x_ + i);
    if (weight_) {
      const float4 weight = *reinterpret_cast<const float4*>(weight_ + i);
      value = {value.x * inverse_ * weight.x, value.y * inverse_ * weight.y, value.z * inverse_ * weight.z,
               value.w * inverse_ * weight.w};
    }
    if (up_) {
      const float4 up = *reinterpret_cast<const float4*>(up_ + i);
      value = {gated(value.x, up.x), gated(value.y, up.y), gated(value.z, up.z), gated(value.w, up.w)};
    }
    return value;
  }

 private:
  static __device__ __forceinline__ float gated(float gate, float up) { return gate / (1.0f + expf(-gate)) * up; }

  const X* x_;
  const float *up_, *weight_;
  float inverse_ = 1;
};

}  // namespace wick::cuda
