#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/moe/experts_plan.h"
#include "backends/cuda/runtime/dependent_launch.cuh"

// Each token's best experts and their routing weights. Scores are dot products in f32, each by one warp in a fixed
// order; the last block that is done with some tokens' scores chooses for them.
namespace wick::cuda {
namespace {

constexpr int kWarps = kThreads / 32;
static_assert(kMostExperts <= kThreads);

// What a block shares while it chooses for a token.
struct Choice {
  float parts[kWarps], ranked[kMostChosen];  // ranked: scores from the best on
  uint32_t chosen[kWarps];                   // a bit for each expert
  __align__(16) uint64_t keys[kMostExperts];
  float of_experts[kMostExperts], of_groups[kMostExperts];  // scores, where groups are chosen
};

// Larger for larger values, and of equal ones for the smaller expert; what is no number comes last.
__device__ __forceinline__ uint64_t order_key(float value, int expert) {
  const uint32_t bits = isnan(value) ? 0xff800000u : __float_as_uint(value == 0 ? 0 : value);
  const uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;
  return uint64_t{rising} << 32 | static_cast<uint32_t>(kMostExperts - expert);
}

// The score, or -inf for experts outside the best groups, as keep_best_groups of nn/moe.cpp: a group is as good as its
// best expert or, with sigmoids, its two best together; of equal ones the first counts.
__device__ float in_best_group(const RoutePlan& plan, float score, Choice& shared) {
  const int expert = static_cast<int>(threadIdx.x), size = plan.experts / plan.groups, group = expert / size;
  shared.of_experts[expert] = score;
  __syncthreads();
  if (expert < plan.groups) {
    float first = -INFINITY, second = -INFINITY;
    for (int i = expert * size; i < (expert + 1) * size; ++i) {
      const float of = shared.of_experts[i];
      second = of > first ? first : of > second ? of : second;
      first = of > first ? of : first;
    }
    shared.of_groups[expert] = plan.sigmoid ? first + second : first;
  }
  __syncthreads();
  if (expert >= plan.experts) return -INFINITY;
  const float own = shared.of_groups[group];
  int better = 0;
  for (int i = 0; i < plan.groups; ++i) {
    const float of = shared.of_groups[i];
    better += of > own || (of == own && i < group);
  }
  return better < plan.chosen_groups ? score : -INFINITY;
}

// A block chooses for a token, each thread having an expert. As expert_weights of nn/moe.cpp: the best by score and
// bias, equal ones by number.
__device__ void choose(const RoutePlan& plan, int64_t token, Choice& shared) {
  const int expert = static_cast<int>(threadIdx.x), warp = expert / 32, lane = expert % 32;
  const bool exists = expert < plan.experts;
  float score = exists ? __ldcg(plan.logits + token * plan.experts + expert) : -INFINITY;
  if (plan.sigmoid) {
    score = 1.0f / (1.0f + expf(-score));
  } else {
    const float most = block_combine(score, shared.parts, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
    score = exists ? expf(score - most) : 0;
    score /= block_combine(score, shared.parts, 0.0f, [](float a, float b) { return a + b; });
  }
  float chance = exists && plan.selection_bias ? score + plan.selection_bias[expert] : score;
  if (plan.groups > 1) chance = in_best_group(plan, chance, shared);
  const uint64_t key = exists ? order_key(chance, expert) : 0;
  shared.keys[expert] = key;
  __syncthreads();
  int rank = 0;  // how many are better
#pragma unroll 4
  for (int i = 0; i < plan.experts; i += 2) {  // one too many is 0
    const auto two = *reinterpret_cast<const ulonglong2*>(shared.keys + i);
    rank += (two.x > key) + (two.y > key);
  }
  const bool mine = exists && rank < plan.chosen;
  const uint32_t of_warp = __ballot_sync(0xffffffffu, mine);
  if (lane == 0) shared.chosen[warp] = of_warp;
  if (mine) shared.ranked[rank] = score;
  __syncthreads();
  if (mine) {
    float sum = 0;
    for (int i = 0; i < plan.chosen; ++i) sum += shared.ranked[i];
    int place = __popc(of_warp & ((1u << lane) - 1));
    for (int i = 0; i < warp; ++i) place += __popc(shared.chosen[i]);
    plan.ids[token * plan.chosen + place] = expert;
    plan.routing_weights[token * plan.chosen + place] = score * (plan.scale / (plan.renormalize && sum > 0 ? sum : 1));
  }
  __syncthreads();  // before the next token's
}

// Weights of a lane that are read before x is there, if there is one token: kHeld times four.
template <typename W>
struct HeldWeights {
  static constexpr int kHeld = 16;
  Four<W> at[kHeld];

  __device__ __forceinline__ void read(const W* weights, int k) {
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      const int i = static_cast<int>(threadIdx.x % 32) * 4 + j * 128;
      if (i < k) at[j] = *reinterpret_cast<const Four<W>*>(weights + i);
    }
  }
};

// A warp for each expert's scores of kTokens tokens.
template <typename W, int kTokens>
__global__ void __launch_bounds__(kThreads) route_kernel(const __grid_constant__ RoutePlan plan) {
  extern __shared__ __align__(16) float x[];  // [kTokens, k]
  __shared__ InputRow<float, false, false>::Shared reduced;
  __shared__ Choice choice;
  __shared__ bool is_last;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, expert = static_cast<int>(blockIdx.x) * kWarps + warp;
  const auto k = static_cast<int>(plan.input.k);
  const int64_t first = int64_t{blockIdx.y} * kTokens;
  const int tokens = static_cast<int>(min(int64_t{kTokens}, plan.input.m - first));
  const W* weights = static_cast<const W*>(plan.weights) + min(expert, plan.experts - 1) * plan.ld;
  launch_dependents();
  HeldWeights<W> held;
  if constexpr (kTokens == 1) held.read(weights, k);
  const InputRow<float, false, false>::Norm norm(plan.input);
  wait_for_prerequisites();
#pragma unroll 1
  for (int token = 0; token < tokens; ++token) {
    const InputRow<float, false, false> row(plan.input, first + token, reduced, norm);
    row.each([&](int64_t i, float4 four) { *reinterpret_cast<float4*>(x + token * k + i) = four; });
  }
  __syncthreads();
  if (expert < plan.experts) {
    float sums[kTokens] = {};
    const auto add = [&](int i, float4 w) {
#pragma unroll
      for (int token = 0; token < kTokens; ++token) {
        const float4 four = *reinterpret_cast<const float4*>(x + (token < tokens ? token : 0) * k + i);
        sums[token] = __fmaf_rn(four.x, w.x, sums[token]);
        sums[token] = __fmaf_rn(four.y, w.y, sums[token]);
        sums[token] = __fmaf_rn(four.z, w.z, sums[token]);
        sums[token] = __fmaf_rn(four.w, w.w, sums[token]);
      }
    };
    int i = lane * 4;
    if constexpr (kTokens == 1) {
#pragma unroll
      for (int j = 0; j < HeldWeights<W>::kHeld; ++j, i += 128) {
        if (i < k) add(i, load_four(held.at[j].at));
      }
    }
#pragma unroll 4
    for (; i < k; i += 128) add(i, load_four(weights + i));
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
  for (int token = 0; token < tokens; ++token) choose(plan, first + token, choice);
}

constexpr int kManyTokens = 8;    // of a block where there are many
constexpr int kOwnShared = 6144;  // bytes of shared memory besides x
static_assert(sizeof(Choice) + sizeof(InputRow<float, false, false>::Shared) + 1024 <= kOwnShared);

template <typename W, int kTokens>
void launch(Device device, const RoutePlan& plan) {
  allow_shared<route_kernel<W, kTokens>>(device, runtime(device).shared_bytes - kOwnShared);
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
         plan.input.k * kManyTokens * 4 <= use.shared_bytes - kOwnShared &&
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
