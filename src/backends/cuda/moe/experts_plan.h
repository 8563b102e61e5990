#pragma once

#include "backends/cuda/gemm/matmul_plan.h"

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
  float* routing_weights;              // the same
  int* arrived;                        // counters that are zero, one for each group of tokens
  int experts, chosen;
  int groups, chosen_groups;
  bool renormalize, sigmoid;
  float scale;
};

// What the experts that were chosen (ids and routing weights of the tables) make of each row of the input.
struct MixPlan {
  WeightPlan input;  // its x [m, hidden], norm, and the dtype of gate and up
  DType down_dtype;
  ExpertTable gates, downs;
  const float* residual;  // [m, hidden] or null
  float* out;             // [m, hidden]
  int64_t hidden, inner;
  int experts, chosen;
  bool clamped;  // gate and up by clamped_gated

  // Neither biases nor another activation than silu: kernels for few pairs take nothing else.
  bool is_plain() const { return !clamped && !gates.first_bias && !gates.second_bias && !downs.first_bias; }
};

// Rows, one per token–expert pair, in the order of experts, of one expert in their own; each expert's are cut
// into tiles that meet its weights.
class ExpertRows {
 public:
  ExpertRows(Device device, const int32_t* ids, int64_t rows, int experts, int tile_rows);
  const int32_t* rows_at() const { return numbers_.as<const int32_t>(); }  // [rows]: which row is where
  const int32_t* places() const { return rows_at() + rows_; }              // and where each row is
  const int* tile_count() const { return rows_at() + 2 * rows_; }
  const int4* tiles() const { return tiles_.as<const int4>(); }  // (expert, first place, rows, -)
  unsigned most_tiles() const { return most_tiles_; }

 private:
  int64_t rows_;
  unsigned most_tiles_;
  Scratch numbers_, tiles_;
};
// The plan's out = its residual + the outputs [rows, hidden], which lie in the order of experts, of a token's experts
// times their routing weights, added up by number.
void combine_outputs(Device device, const float* outputs, const ExpertRows& rows, const MixPlan& plan);

bool fits_routing(const Runtime& use, const RoutePlan& plan);
void route(Device device, const RoutePlan& plan);
// Weights of f16 or bf16, many rows.
void mix_grouped(Device device, const MixPlan& plan);
// Packed weights: few rows, each pair alone, and any number, to the same bits.
bool fits_packed_pairs(const Runtime& use, const MixPlan& plan);
void mix_packed_pairs(Device device, const MixPlan& plan);
bool fits_packed_experts(const Runtime& use, const MixPlan& plan);
void mix_packed_experts(Device device, const MixPlan& plan);

}  // namespace wick::cuda
