#pragma once

#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/tensor_map.h"

// What the kernels with tensor maps share: which weights a tile of them is, and what becomes of its sums.
namespace wick::cuda {

struct MappedTile {
  int job, first_row;  // gated: of gate and of up
};

// Tiles of kRows rows of weights, job after job; gated: half of each from gate, half from up. Tiles behind the last one
// are rows behind the last.
template <int kRows>
__host__ __device__ __forceinline__ int mapped_tiles(const WeightPlan& plan, int job) {
  const int rows = plan.gated ? kRows / 2 : kRows;
  return (static_cast<int>(plan.jobs[job].n) + rows - 1) / rows;
}
template <int kRows>
__device__ __forceinline__ MappedTile mapped_tile(const WeightPlan& plan, int tile) {
  if (plan.gated) return {0, tile * (kRows / 2)};
  int job = 0;
  for (; job + 1 < plan.count; ++job) {
    const int tiles = mapped_tiles<kRows>(plan, job);
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {job, tile * kRows};
}
template <int kRows>
int all_mapped_tiles(const WeightPlan& plan) {
  int tiles = mapped_tiles<kRows>(plan, 0);
  for (int i = 1; i < plan.count && !plan.gated; ++i) tiles += mapped_tiles<kRows>(plan, i);
  return tiles;
}

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Run {
  T at[kCount];
};

// kCount neighbouring results of a token: what is added to their sums, fetched before those are known.
template <typename T, int kCount>
class Results {
 public:
  __device__ __forceinline__ Results(const MappedPlan& mapped, int job, int64_t token, int row)
      : plan_(mapped.plan), job_(mapped.plan.jobs[job]), by_run_(mapped.by_four), row_(row), at_(token * job_.n + row) {
    inside_ = token < plan_.m && row < job_.n;
    if (!inside_) return;
    fetch(job_.bias, row, bias_);
    if (plan_.gated) fetch(plan_.jobs[1].bias, row, up_bias_);
    fetch(job_.residual, at_, residual_);
  }
  __device__ __forceinline__ bool inside() const { return inside_; }

  // `up` counts where gated.
  __device__ __forceinline__ void store(const float (&sum)[kCount], const float (&up)[kCount]) const {
    if (!inside_) return;
    Run<float, kCount> result;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      result.at[i] = sum[i];
      if (job_.bias) result.at[i] += bias_.at[i];
      if (plan_.gated) result.at[i] = gated(result.at[i], plan_.jobs[1].bias ? up[i] + up_bias_.at[i] : up[i]);
      if (job_.residual) result.at[i] += residual_.at[i];
    }
    if (plan_.out_dtype == DType::kF32) {
      put(static_cast<float*>(job_.out), result);
    } else {
      put(static_cast<T*>(job_.out), result);
    }
  }

 private:
  __device__ __forceinline__ void fetch(const float* from, int64_t at, Run<float, kCount>& to) const {
    if (!from) return;
    if (by_run_) {
      to = *reinterpret_cast<const Run<float, kCount>*>(from + at);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) to.at[i] = row_ + i < job_.n ? from[at + i] : 0;
    }
  }
  template <typename Out>
  __device__ __forceinline__ void put(Out* out, const Run<float, kCount>& result) const {
    Run<Out, kCount> rounded;
#pragma unroll
    for (int i = 0; i < kCount; ++i) rounded.at[i] = to<Out>(result.at[i]);
    if (by_run_) {
      *reinterpret_cast<Run<Out, kCount>*>(out + at_) = rounded;
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (row_ + i < job_.n) out[at_ + i] = rounded.at[i];
      }
    }
  }

  const WeightPlan& plan_;
  const WeightJob& job_;
  bool by_run_, inside_;
  int row_;
  int64_t at_;
  Run<float, kCount> bias_, up_bias_, residual_;
};

}  // namespace wick::cuda
