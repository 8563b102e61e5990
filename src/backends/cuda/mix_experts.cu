#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"

// Mixtures of experts for few tokens: experts are chosen on the device, and each chosen one's products are computed for
// its token alone.
namespace wick::cuda {
namespace {

constexpr int kMostChosen = 16, kScoresOfLane = kMostExperts / 32;
constexpr int64_t kMostTokens = 64;

struct ChoicePlan {
  const float *scores, *bias;  // [tokens, experts]; [experts] or null
  int32_t* ids;                // [tokens, chosen], ascending
  float* shares;               // the same
  int tokens, experts, chosen;
  bool renormalize;
  float scale;
};

// A warp per token. As expert_weights of nn/moe.cpp: the best by score and bias, equal ones by number.
__global__ void __launch_bounds__(32) choose_kernel(const __grid_constant__ ChoicePlan plan) {
  __shared__ int ids[kMostChosen];
  __shared__ float scores[kMostChosen];
  const int lane = threadIdx.x;
  let_next_start();
  wait_for_previous();
  const float* row = plan.scores + int64_t{blockIdx.x} * plan.experts;
  float value[kScoresOfLane];
#pragma unroll
  for (int i = 0; i < kScoresOfLane; ++i) {
    const int expert = lane + 32 * i;
    value[i] = expert < plan.experts ? row[expert] + (plan.bias ? plan.bias[expert] : 0) : -INFINITY;
  }
  float sum = 0;
  for (int j = 0; j < plan.chosen; ++j) {
    float best = -INFINITY;
    int at = kMostExperts;
#pragma unroll
    for (int i = 0; i < kScoresOfLane; ++i) {
      const int expert = lane + 32 * i;
      if (expert < plan.experts && (value[i] > best || at == kMostExperts)) {
        best = value[i];
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
      if (lane + 32 * i == at) value[i] = -INFINITY;  // a later round takes it again only if all others are that, too
    }
    const float score = row[at];
    sum += score;
    if (lane == 0) {
      ids[j] = at;
      scores[j] = score;
    }
  }
  __syncwarp();
  if (lane >= plan.chosen) return;
  const float factor = plan.scale / (plan.renormalize && sum > 0 ? sum : 1);
  int place = 0;
  for (int j = 0; j < plan.chosen; ++j) place += ids[j] < ids[lane];
  plan.ids[blockIdx.x * plan.chosen + place] = ids[lane];
  plan.shares[blockIdx.x * plan.chosen + place] = scores[lane] * factor;
}

// out = the answers of a token's experts times their shares, added up by number.
__global__ void __launch_bounds__(kThreads)
    combine_kernel(const float* answers, const float* shares, int chosen, int64_t hidden, float* out) {
  let_next_start();
  wait_for_previous();
  const int64_t token = blockIdx.y, d = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (d >= hidden) return;
  float sum = 0;
  for (int j = 0; j < chosen; ++j) {
    const int64_t row = token * chosen + j;
    sum = __fadd_rn(sum, __fmul_rn(answers[row * hidden + d], shares[row]));
  }
  out[token * hidden + d] = sum;
}

bool fits(const Tensor& weight, DType dtype, int64_t n, int64_t k) {
  return weight.dtype() == dtype && weight.dim(0) == n && weight.dim(1) == k && weight.strides()[1] == 1 &&
         weight.strides()[0] == k && k % 8 == 0 && aligned(weight.raw(), 16);
}

}  // namespace

bool mix_experts(const Tensor& x, const Tensor& scores, const Tensor& selection_bias, const ExpertChoice& choice,
                 std::span<const ExpertWeights> experts, const Tensor& out) {
  const int64_t tokens = x.dim(0), hidden = x.dim(1), inner = experts[0].gate->dim(0);
  const DType dtype = experts[0].gate->dtype();
  if (tokens == 0 || tokens > kMostTokens || experts.size() > static_cast<size_t>(kMostExperts) ||
      choice.chosen > kMostChosen || (dtype != DType::kF16 && dtype != DType::kBF16) || !aligned(x.raw(), 16)) {
    return false;
  }
  ExpertTable gates{}, downs{};
  for (size_t i = 0; i < experts.size(); ++i) {
    const ExpertWeights& of = experts[i];
    if (!fits(*of.gate, dtype, inner, hidden) || !fits(*of.up, dtype, inner, hidden) ||
        !fits(*of.down, dtype, hidden, inner)) {
      return false;
    }
    gates.first[i] = of.gate->raw();
    gates.second[i] = of.up->raw();
    downs.first[i] = of.down->raw();
  }
  const Device device = x.device();
  const int64_t rows = tokens * choice.chosen;
  const auto chosen = static_cast<int>(choice.chosen);
  const Scratch ids(device, static_cast<size_t>(rows) * 4), shares(device, static_cast<size_t>(rows) * 4),
      between(device, static_cast<size_t>(rows * inner) * 4), answers(device, static_cast<size_t>(rows * hidden) * 4);

  WeightPlan plan;
  plan.m = 1;
  plan.k = plan.ld = hidden;
  plan.x = x.raw();
  plan.dtype = dtype;
  plan.gated = true;
  plan.count = 2;
  plan.jobs[0] = {gates.first[0], inner, between.as<void>(), nullptr, nullptr};
  plan.jobs[1] = {gates.second[0], inner, nullptr, nullptr, nullptr};
  WeightPlan down;
  down.m = 1;
  down.k = down.ld = inner;
  down.x = between.as<void>();
  down.dtype = dtype;
  down.jobs[0] = {downs.first[0], hidden, answers.as<void>(), nullptr, nullptr};
  const Runtime& use = runtime(device);
  if (!fits_few_rows(use, plan) || !fits_few_rows(use, down)) return false;
  gates.ids = downs.ids = ids.as<const int32_t>();
  gates.per_row = chosen;
  downs.per_row = 1;

  const ChoicePlan choosing{data_of<const float>(scores),
                            data_or_null<const float>(selection_bias),
                            ids.as<int32_t>(),
                            shares.as<float>(),
                            static_cast<int>(tokens),
                            static_cast<int>(experts.size()),
                            chosen,
                            choice.renormalize,
                            choice.scale};
  launch_dependent(device, "experts", choose_kernel, static_cast<unsigned>(tokens), 32, 0, choosing);
  multiply_experts(device, plan, gates, rows);
  multiply_experts(device, down, downs, rows);
  launch_dependent(device, "experts", combine_kernel, dim3(blocks_for(hidden), static_cast<unsigned>(tokens)), kThreads,
                   0, answers.as<const float>(), shares.as<const float>(), chosen, hidden, data_of<float>(out));
  return true;
}

}  // namespace wick::cuda
