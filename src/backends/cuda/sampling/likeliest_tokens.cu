#include "backends/cuda/runtime/dependent_launch.cuh"
#include "backends/cuda/sampling/likeliest_tokens.h"
#include "backends/cuda/sampling/token_keys.cuh"

// The highest logit of each row. Blocks find that of their share, and the last one to come tells which it was.
namespace wick::cuda {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kLoads = 8, kShare = kThreads * kLoads;  // logits of a thread, and of a block
constexpr int64_t kMostRows = 64;                      // of a launch

// Zero before and after each launch.
struct RowState {
  unsigned long long best;  // the inverse of a key
  int arrived, unused;
};

__global__ void __launch_bounds__(kThreads)
    likeliest_kernel(const float* logits, int n, RowState* states, int32_t* out) {
  __shared__ uint64_t of_warps[kWarps];
  launch_dependents();
  wait_for_prerequisites();
  const float* row = logits + int64_t{blockIdx.y} * n;
  const int first = static_cast<int>(blockIdx.x * kShare + threadIdx.x), lane = threadIdx.x % 32;
  float mine[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) mine[i] = first + i * kThreads < n ? row[first + i * kThreads] : -INFINITY;
  uint64_t least = ~uint64_t{0};
#pragma unroll
  for (int i = 0; i < kLoads; ++i) least = min(least, checked_key(mine[i], first + i * kThreads));
  least = least_of_warp(least);
  if (lane == 0) of_warps[threadIdx.x / 32] = least;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  least = least_of_warp(lane < kWarps ? of_warps[lane] : ~uint64_t{0});
  if (lane != 0) return;
  RowState& state = states[blockIdx.y];
  atomicMax(&state.best, ~least);
  __threadfence();
  if (atomicAdd(&state.arrived, 1) != static_cast<int>(gridDim.x) - 1) return;
  __threadfence();
  const uint64_t key = ~atomicExch(&state.best, 0);
  state.arrived = 0;
  out[blockIdx.y] = is_usable(key) ? static_cast<int32_t>(key & 0xffffffffu) : -1;
}

}  // namespace

void likeliest_tokens(const Tensor& logits, const Tensor& out) {
  const Device device = logits.device();
  const int64_t n = logits.dim(1);
  auto* states = reinterpret_cast<RowState*>(runtime(device).counters);
  const auto shares = static_cast<unsigned>((n + kShare - 1) / kShare);
  for (int64_t first = 0; first < logits.dim(0); first += kMostRows) {
    const dim3 grid(shares, static_cast<unsigned>(std::min(logits.dim(0) - first, kMostRows)));
    launch_dependent(device, "draw_tokens", likeliest_kernel, grid, kThreads, 0,
                     data_of<const float>(logits) + first * n, static_cast<int>(n), states,
                     data_of<int32_t>(out) + first);
  }
}

}  // namespace wick::cuda
