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

// A head of a token normed and turned by a warp, put(d, component) for each. Rounds as rms_norm and rope do.
template <typename Put>
__device__ __forceinline__ void turn_head(const TurnPlan& plan, const float* from, int dim, const float* weight,
                                          int token, const Put& put) {
  const int lane = threadIdx.x % 32;
  float inverse = 1;
  if (weight) {
    float square = 0;
    for (int d = lane; d < dim; d += 32) square += from[d] * from[d];
    square = warp_sum(square);
    inverse = 1.0f / sqrtf(square / static_cast<float>(dim) + plan.eps);
  }
  const auto normed = [&](int d) { return weight ? from[d] * inverse * weight[d] : from[d]; };
  for (int i = lane; i < plan.pairs; i += 32) {
    const int first = plan.interleaved ? 2 * i : i, second = plan.interleaved ? 2 * i + 1 : i + plan.pairs;
    const float a = normed(first), b = normed(second);
    const float c = plan.cos[token * plan.pairs + i], s = plan.sin[token * plan.pairs + i];
    put(first, a * c - b * s);
    put(second, a * s + b * c);
  }
  for (int d = 2 * plan.pairs + lane; d < dim; d += 32) put(d, normed(d));
}

}  // namespace wick::cuda
