#pragma once

#include <cstdint>

#include "backends/cuda/runtime/runtime.h"
#include "tensor/tensor.h"

// Products with weights whose rows [n, k] lie one behind the other: x [m, k] x w^T -> out [m, n].
namespace wick::cuda {

// One matrix of weights and where its products go.
struct WeightJob {
  const void* weights = nullptr;  // [n, k], 16-byte aligned
  int64_t n = 0;
  void* out = nullptr;              // [m, n]
  const float* bias = nullptr;      // [n]; null: none
  const float* residual = nullptr;  // [m, n], added; null: none
};
inline constexpr int kMostJobs = 3;

// Several matrices that meet the same x.
struct WeightPlan {
  WeightJob jobs[kMostJobs];
  int count = 1;
  int64_t m = 0, k = 0;
  const void* x = nullptr;  // [m, k], row-major
  DType x_dtype = DType::kF32, dtype = DType::kBF16, out_dtype = DType::kF32;
  int64_t ld = 0;                  // elements from one row of weights to the next; packed: bytes
  const void* codebook = nullptr;  // see codebook_of

  // Instead of x: its RMS norm with these weights [k], or silu(x) * up [m, k]; null: x itself.
  const float *norm_weight = nullptr, *up = nullptr;
  float eps = 0;

  // Of two jobs of one n, gate and up: silu(gate x) * up x to the first one's out. Needs takes_gated.
  bool gated = false;

  bool steady = false;  // the weights have been there for long: they may be read while earlier kernels still run

  // Plans of one x that run side by side: the first lets the next start once x is there, and that one only waits for it
  // at its end. Both need runs_beside.
  bool leads = false, follows = false;
};

// Weights of f16 or bf16. One row of x, in f32, or `rows` of them of which a block needs all; and a few rows as they
// are.
bool fits_one_row(const Runtime& use, const WeightPlan& plan, int64_t rows = 1);
void multiply_one_row(Device device, const WeightPlan& plan);
bool fits_few_rows(const Runtime& use, const WeightPlan& plan);
void multiply_few_rows(Device device, const WeightPlan& plan);
// These take x itself, in the dtype of the weights: up to 64 rows and many, on devices of compute capability 9, and
// what does not fit those.
bool fits_batch(const Runtime& use, const WeightPlan& plan);
void multiply_batch(Device device, const WeightPlan& plan);
bool fits_hopper(const Runtime& use, const WeightPlan& plan);
void multiply_hopper(Device device, const WeightPlan& plan);
void multiply_tiles(Device device, const WeightPlan& plan);

// Weights of experts, of which each of some tokens has `chosen`.
inline constexpr int kMostExperts = 256;
struct ExpertTable {
  const void *first[kMostExperts], *second[kMostExperts];  // instead of those of jobs 0 and, gated, 1
  const int32_t* ids;
  const float* routing_weights;
  int chosen;
  const float *first_bias, *second_bias;  // [experts, n] or null; multiply_experts takes none
};
// For plans of one row (m is 1) of f16 or bf16 that hold for all. Without routing weights, row r of out comes from row
// r / chosen of x and expert ids[r]; with them row r of out is the sum of what experts ids[r * chosen + i] make of rows
// r * chosen + i of x, times their routing weights. Needs fits_one_row.
void multiply_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens);

// Whether a plan with these rows may be `gated`; the second is for weights of f16 and bf16.
bool takes_gated(const Runtime& use, const WeightPlan& plan);
bool takes_gated_weights(const Runtime& use, const WeightPlan& plan);

// x [m, k] after the plan's norm or activation, in the dtype of the weights.
void round_rows(Device device, const WeightPlan& plan, void* out);
// Chooses among them.
void multiply_weights(Device device, const WeightPlan& plan);
// Packed weights.
void multiply_packed(Device device, const WeightPlan& plan);
bool runs_beside(const Runtime& use, const WeightPlan& plan);

}  // namespace wick::cuda
