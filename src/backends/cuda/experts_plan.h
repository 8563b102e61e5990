#pragma once

#include "backends/cuda/matmul_plan.h"

namespace wick::cuda {

inline constexpr int kMostChosen = 16;

// How tokens choose their experts.
struct RoutePlan {
  WeightPlan input;     // its x [m, k] and norm
  const void* weights;  // [experts, k], in weights_dtype
  int64_t ld;
  DType weights_dtype;
  const float *bias, *selection_bias;  // [experts] or null
  float* logits;                       // [m, experts]
  int32_t* ids;                        // [m, chosen], ascending
  float* shares;                       // the same
  int* arrived;                        // counters that are zero, one for each group of tokens
  int experts, chosen;
  bool renormalize, sigmoid;
  float scale;
};

// What the experts that were chosen (ids and shares of the tables) make of each row of the input; many at once.
struct MixPlan {
  WeightPlan input;  // its x [m, hidden], norm, and the dtype of the weights
  ExpertTable gates, downs;
  const float* residual;  // [m, hidden] or null
  float* out;             // [m, hidden]
  int64_t hidden, inner;
  int experts, chosen;
};

bool fits_routing(const Runtime& use, const RoutePlan& plan);
void route(Device device, const RoutePlan& plan);
void mix_grouped(Device device, const MixPlan& plan);

}  // namespace wick::cuda
