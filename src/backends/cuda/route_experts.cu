#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/experts_plan.h"
#include "backends/cuda/input_rows.cuh"

// Each token's best experts and their shares. Scores are dot products in f32, each by one warp in a fixed order; the
// last block that is done with some tokens' scores chooses for them.
namespace wick::cuda {
namespace {

constexpr int kWarps = kThreads / 32, kScoresOfLane = kMostExperts / 32;

// The scores of a token from its logits, a warp's lanes having expert lane + 32 i.
__device__ __forceinline__ void score(const RoutePlan& plan, const float* logits, float (&scores)[kScoresOfLane]) {
  const int lane = threadIdx.x % 32;
  float most = -INFINITY;
#pragma unroll
  for (int i = 0; i < kScoresOfLane; ++i) {
    scores[i] = lane + 32 * i < plan.experts ? __ldcg(logits + lane + 32 * i) : -INFINITY;
    most = fmaxf(most, scores[i]);
  }
  if (plan.sigmoid) {
#pragma unroll
    for (int i = 0; i < kScoresOfLane; ++i) scores[i] = 1.0f / (1.0f + expf(-scores[i]));
    return;
  }
  most = warp_max(most);
  float total = 0;
#pragma unroll
  for (int i = 0; i < kScoresOfLane; ++i) {
    if (lane + 32 * i < plan.experts) total += scores[i] = expf(scores[i] - most);
  }
  total = warp_sum(total);
#pragma unroll
  for (int i = 0; i < kScoresOfLane; ++i) scores[i] /= total;
}

// A warp chooses for a token. As expert_weights of nn/moe.cpp: the best by score and bias, equal ones by number.
__device__ void choose(const RoutePlan& plan, int64_t token) {
  const int lane = threadIdx.x % 32;
  float scores[kScoresOfLane], values[kScoresOfLane];
  score(plan, plan.logits + token * plan.experts, scores);
#pragma unroll
  for (int i = 0; i < kScoresOfLane; ++i) {
    const int expert = lane + 32 * i;
    values[i] = scores[i];
    if (expert < plan.experts && plan.selection_bias) values[i] += plan.selection_bias[expert];
  }
  float sum = 0, my_score = 0;
  int my_expert = kMostExperts;  // lane j has the j-th choice
  for (int j = 0; j < plan.chosen; ++j) {
    float best = -INFINITY, best_score = 0;
    int at = kMostExperts;
#pragma unroll
    for (int i = 0; i < kScoresOfLane; ++i) {
      const int expert = lane + 32 * i;
      if (expert < plan.experts && (values[i] > best || at == kMostExperts)) {
        best = values[i];
        best_score = scores[i];
        at = expert;
      }
    }
#pragma unroll
    for (int step = 16; step; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, step);
      const int other_at = __shfl_xor_sync(0xffffffffu, at, step);
      if (other_at < kMostExperts && (at == kMostExperts || other > best || (other == best && other_at < at))) {
        best = other;
        at = other_at;
      }
    }
#pragma unroll
    for (int i = 0; i < kScoresOfLane; ++i) {
      if (lane + 32 * i == at) values[i] = -INFINITY;  // a later round takes it again only if all others are that, too
    }
    best_score = __shfl_sync(0xffffffffu, best_score, at % 32);
    sum += best_score;
    if (lane == j) {
      my_expert = at;
      my_score = best_score;
    }
  }
  const float factor = plan.scale / (plan.renormalize && sum > 0 ? sum : 1);
  int place = 0;
  for (int j = 0; j < plan.chosen; ++j) {  // scores that are no numbers may choose one twice
    const int other = __shfl_sync(0xffffffffu, my_expert, j);
    place += other < my_expert || (other == my_expert && j < lane);
  }
  if (lane >= plan.chosen) return;
  plan.ids[token * plan.chosen + place] = my_expert;
  plan.shares[token * plan.chosen + place] = my_score * factor;
}

// A warp for each expert's scores of kTokens tokens.
template <typename W, int kTokens>
__global__ void __launch_bounds__(kThreads) route_kernel(const __grid_constant__ RoutePlan plan) {
  extern __shared__ __align__(16) float x[];  // [kTokens, k]
  __shared__ InputRow<float, false>::Shared reduced;
  __shared__ bool is_last;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, expert = static_cast<int>(blockIdx.x) * kWarps + warp;
  const auto k = static_cast<int>(plan.input.k);
  const int64_t first = int64_t{blockIdx.y} * kTokens;
  const int tokens = static_cast<int>(min(int64_t{kTokens}, plan.input.m - first));
  const W* weights = static_cast<const W*>(plan.weights) + min(expert, plan.experts - 1) * plan.ld;
  let_next_start();
#if defined(__CUDA_ARCH__)
  for (int i = lane * 128 / static_cast<int>(sizeof(W)); i < k; i += 32 * 128 / static_cast<int>(sizeof(W))) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(weights + i));
  }
#endif
  fetch_norm(plan.input);
  wait_for_previous();
  for (int token = 0; token < tokens; ++token) {
    const InputRow<float, false> row(plan.input, first + token, reduced);
    row.each([&](int64_t i, float4 four) { *reinterpret_cast<float4*>(x + token * k + i) = four; });
  }
  __syncthreads();
  if (expert < plan.experts) {
    float sums[kTokens] = {};
#pragma unroll(kTokens == 1 ? 16 : 4)
    for (int i = lane * 4; i < k; i += 128) {
      const float4 w = load_four(weights + i);
#pragma unroll
      for (int token = 0; token < kTokens; ++token) {
        const float4 four = *reinterpret_cast<const float4*>(x + (token < tokens ? token : 0) * k + i);
        sums[token] = __fmaf_rn(four.x, w.x, sums[token]);
        sums[token] = __fmaf_rn(four.y, w.y, sums[token]);
        sums[token] = __fmaf_rn(four.z, w.z, sums[token]);
        sums[token] = __fmaf_rn(four.w, w.w, sums[token]);
      }
    }
#pragma unroll
    for (int token = 0; token < kTokens; ++token) {
      const float sum = warp_sum(sums[token]);
      if (lane != 0 || token >= tokens) continue;
      plan.logits[(first + token) * plan.experts + expert] = plan.bias ? sum + plan.bias[expert] : sum;
    }
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    int* counter = plan.arrived + blockIdx.y;
    is_last = atomicAdd(counter, 1) == static_cast<int>(gridDim.x) - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int token = warp; token < tokens; token += kWarps) choose(plan, first + token);
}

constexpr int kManyTokens = 8;  // of a block where there are many

template <typename W, int kTokens>
void launch(Device device, const RoutePlan& plan) {
  allow_shared<route_kernel<W, kTokens>>(device, runtime(device).shared_bytes - 1024);
  const dim3 grid(blocks_for(plan.experts, kWarps), blocks_for(plan.input.m, kTokens));
  launch_dependent(device, "experts", route_kernel<W, kTokens>, grid, kThreads,
                   static_cast<size_t>(kTokens * plan.input.k) * sizeof(float), plan);
}

}  // namespace

bool fits_routing(const Runtime& use, const RoutePlan& plan) {
  const bool known =
      plan.weights_dtype == DType::kF32 || plan.weights_dtype == DType::kF16 || plan.weights_dtype == DType::kBF16;
  return known && plan.experts <= kMostExperts && plan.chosen <= kMostChosen && plan.input.k % 8 == 0 &&
         plan.ld % 8 == 0 && aligned(plan.weights, 16) && aligned(plan.input.x, 16) &&
         plan.input.k * kManyTokens * 4 <= use.shared_bytes - 2048 &&
         plan.input.m <= int64_t{kManyTokens} * use.counter_count;
}

void route(Device device, const RoutePlan& plan) {
  const bool many = plan.input.m > 32;
  visit_float(plan.weights_dtype, [&](auto zero) {
    using W = decltype(zero);
    if constexpr (!std::is_same_v<W, double>) {
      many ? launch<W, kManyTokens>(device, plan) : launch<W, 1>(device, plan);
    }
  });
}

}  // namespace wick::cuda
