#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.cuh"

namespace wick::cuda {
namespace {

constexpr int kBlock = 1024, kRoom = 2048;  // threads; logits that may be looked at closely

struct TopPlan {
  const float* logits;  // [rows, n]
  int64_t n;
  int32_t* out;  // [rows, 2 k]
  int k;
  // Of one best logit: blocks share out a row; [rows, parts] and a counter for each row.
  float2* parts;
  int* arrived;
};

// What no draw can be made from.
__device__ __forceinline__ bool is_unusable(float logit) { return !(logit < INFINITY); }

struct Best {
  float logit = -INFINITY;
  int at = 0x7fffffff;

  __device__ __forceinline__ void meet(float other, int other_at) {
    if (other > logit || (other == logit && other_at < at)) {
      logit = other;
      at = other_at;
    }
  }
};

// Of all threads of the block, for its first warp.
__device__ __forceinline__ Best best_of_block(Best best, Best* shared) {
  const auto over_lanes = [&] {
#pragma unroll
    for (int step = 16; step; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best.logit, step);
      best.meet(other, __shfl_xor_sync(0xffffffffu, best.at, step));
    }
  };
  over_lanes();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x >= 32) return best;
  best = threadIdx.x < blockDim.x / 32 ? shared[threadIdx.x] : Best();
  over_lanes();
  return best;
}

// +inf stands for a logit that is unusable.
__global__ void __launch_bounds__(kBlock) best_kernel(const __grid_constant__ TopPlan plan) {
  __shared__ Best shared[kBlock / 32];
  __shared__ bool is_last;
  let_next_start();
  wait_for_previous();
  const int64_t share = (plan.n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * share;
  const int64_t end = min(plan.n, begin + share);
  const float* row = plan.logits + blockIdx.y * plan.n;
  Best best;
#pragma unroll 8
  for (int64_t i = begin + threadIdx.x; i < end; i += kBlock) {
    best.meet(is_unusable(row[i]) ? INFINITY : row[i], static_cast<int>(i));
  }
  best = best_of_block(best, shared);
  float2* parts = plan.parts + blockIdx.y * gridDim.x;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = {best.logit, __int_as_float(best.at)};
    __threadfence();
    is_last = atomicAdd(plan.arrived + blockIdx.y, 1) == static_cast<int>(gridDim.x) - 1;
    if (is_last) plan.arrived[blockIdx.y] = 0;
  }
  __syncthreads();
  if (!is_last || threadIdx.x > 0) return;
  __threadfence();
  best = {};
  for (int i = 0; i < static_cast<int>(gridDim.x); ++i) {
    const float2 part = __ldcg(parts + i);
    best.meet(part.x, __float_as_int(part.y));
  }
  plan.out[blockIdx.y * 2] = isinf(best.logit) ? -1 : best.at;
  plan.out[blockIdx.y * 2 + 1] = __float_as_int(best.logit);
}

// A block per row. The k-th of the largest logits that threads meet bounds the k-th of all from below: what reaches it
// is put in order.
__global__ void __launch_bounds__(kBlock) top_kernel(const __grid_constant__ TopPlan plan) {
  __shared__ __align__(16) float most[kBlock];
  __shared__ float logits[kRoom];
  __shared__ int tokens[kRoom], ranks[kRoom], count, odd;
  __shared__ float least;
  const float* row = plan.logits + blockIdx.x * plan.n;
  if (threadIdx.x == 0) count = odd = 0;
  let_next_start();
  wait_for_previous();
  __syncthreads();
  float mine = -INFINITY;
  bool unusable = false;
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < plan.n; i += kBlock) {
    unusable |= is_unusable(row[i]);
    mine = fmaxf(mine, row[i]);
  }
  most[threadIdx.x] = mine;
  if (unusable) odd = 1;
  __syncthreads();
  int better = 0;
  for (int i = 0; i < kBlock; ++i) better += most[i] > mine || (most[i] == mine && i < static_cast<int>(threadIdx.x));
  if (better == plan.k - 1) least = mine;
  __syncthreads();
  const float bound = fmaxf(least, -3.4e38f);  // above -infinity
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < plan.n; i += kBlock) {
    if (!(row[i] >= bound)) continue;
    const int place = atomicAdd(&count, 1);
    if (place >= kRoom) continue;
    logits[place] = row[i];
    tokens[place] = static_cast<int>(i);
  }
  __syncthreads();
  int32_t* out = plan.out + int64_t{blockIdx.x} * 2 * plan.k;
  if (odd || count < plan.k || count > kRoom) {
    if (threadIdx.x == 0) out[0] = -1;
    return;
  }
  for (int j = threadIdx.x; j < count; j += kBlock) {
    int rank = 0;
    for (int i = 0; i < count; ++i) {
      rank += logits[i] > logits[j] || (logits[i] == logits[j] && tokens[i] < tokens[j]);
    }
    ranks[j] = rank;
  }
  __syncthreads();
  for (int j = threadIdx.x; j < count; j += kBlock) {
    if (ranks[j] >= plan.k) continue;
    int place = 0;
    for (int i = 0; i < count; ++i) place += ranks[i] < plan.k && tokens[i] < tokens[j];
    out[place] = tokens[j];
    out[plan.k + place] = __float_as_int(logits[j]);
  }
}

constexpr unsigned kParts = 16;  // of a row

}  // namespace

void top_logits(const Tensor& logits, int64_t k, const Tensor& out) {
  const Device device = logits.device();
  const int64_t rows = logits.dim(0), n = logits.dim(1);
  if (rows == 0) return;
  const Runtime& use = runtime(device);
  const bool one = k == 1 && rows <= use.counter_count;
  const Scratch parts(device, one ? static_cast<size_t>(rows) * kParts * sizeof(float2) : 0);
  const TopPlan plan{data_of<const float>(logits), n,           data_of<int32_t>(out), static_cast<int>(k),
                     parts.as<float2>(),           use.counters};
  if (one) {
    launch_dependent(device, "top_logits", best_kernel, dim3(kParts, static_cast<unsigned>(rows)), kBlock, 0, plan);
  } else {
    launch_dependent(device, "top_logits", top_kernel, static_cast<unsigned>(rows), kBlock, 0, plan);
  }
}

}  // namespace wick::cuda
