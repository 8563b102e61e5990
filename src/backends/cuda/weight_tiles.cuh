#pragma once

#include "backends/cuda/matmul_plan.h"

// Tiles of kRows rows of weights, job after job; gated: the first half from gate, the second the same rows of up. Tiles
// behind the last one are rows behind the last.
namespace wick::cuda {

struct TilePlace {
  int job, first_row;  // gated: of gate and of up
};

template <int kRows>
__host__ __device__ __forceinline__ int tiles_of_job(const WeightPlan& plan, int job) {
  const int rows = plan.gated ? kRows / 2 : kRows;
  return (static_cast<int>(plan.jobs[job].n) + rows - 1) / rows;
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
  for (; job + 1 < plan.count; ++job) {
    const int tiles = tiles_of_job<kRows>(plan, job);
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {job, tile * kRows};
}

}  // namespace wick::cuda
