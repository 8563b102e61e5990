#pragma once

#include "backends/cuda/gemm/matmul_plan.h"
#include "backends/cuda/runtime/types.cuh"

// Tiles of kRows rows of weights, job after job; gated: the first half from gate, the second the same rows of up. Tiles
// behind the last one are rows behind the last.
namespace wick::cuda {

struct TilePlace {
  int job, first_row;  // gated: of gate and of up
};

template <int kRows>
__host__ __device__ __forceinline__ int tiles_of_job(const WeightPlan& plan, int job) {
  const auto n = static_cast<int>(plan.jobs[job].n);
  return plan.gated ? (n + kRows / 2 - 1) / (kRows / 2) : (n + kRows - 1) / kRows;
}

template <int kRows>
int tiles_of_plan(const WeightPlan& plan) {
  int tiles = tiles_of_job<kRows>(plan, 0);
  for (int i = 1; i < plan.count && !plan.gated; ++i) tiles += tiles_of_job<kRows>(plan, i);
  return tiles;
}

template <int kRows>
__device__ __forceinline__ TilePlace place_of_tile(const WeightPlan& plan, int tile) {
  if (plan.gated) return {0, tile * (kRows / 2)};
  int job = 0;
#pragma unroll
  for (int i = 0; i + 1 < kMostJobs; ++i) {
    const int tiles = (static_cast<int>(plan.jobs[i].n) + kRows - 1) / kRows;
    if (job < i || i + 1 >= plan.count || tile < tiles) break;
    tile -= tiles;
    ++job;
  }
  return {job, tile * kRows};
}

// The tiles of a plan's jobs, counted before a kernel starts.
struct RowPlace {
  int job, row;
};
template <int kRows>
struct JobTiles {
  int first[kMostJobs] = {}, total = 0;

  JobTiles() = default;
  explicit JobTiles(const WeightPlan& plan) {
    for (int i = 0; i < plan.count; ++i) {
      first[i] = total;
      if (i == 0 || !plan.gated) total += tiles_of_job<kRows>(plan, i);
    }
  }
  // Row i of a tile.
  __device__ __forceinline__ RowPlace row(const WeightPlan& plan, int tile, int i) const {
    constexpr int kHalf = kRows / 2;
    if (plan.gated) return {i / kHalf, tile * kHalf + i % kHalf};
    int job = 0;
    if (plan.count > 1 && tile >= first[1]) job = plan.count > 2 && tile >= first[2] ? 2 : 1;
    return {job, (tile - first[job]) * kRows + i};
  }
};

// A result in f32 or in the dtype T of the weights.
template <typename T>
__device__ __forceinline__ void store_as(DType dtype, void* out, int64_t at, float result) {
  if (dtype == DType::kF32) {
    static_cast<float*>(out)[at] = result;
  } else {
    static_cast<T*>(out)[at] = to<T>(result);
  }
}

}  // namespace wick::cuda
