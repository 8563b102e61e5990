#include "backends/cuda/moe/experts_plan.h"
#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

// Mixtures of experts. For few tokens each chosen expert's products are computed for its token alone.
namespace wick::cuda {
namespace {

constexpr int64_t kFewRows = 64, kFewPackedRows = 24;  // token–expert pairs
constexpr int64_t kMostTokens = 65535;
constexpr size_t kMostListed = static_cast<size_t>(kMostExperts);

bool fits(const Tensor& weight, DType dtype, int64_t n, int64_t k) {
  return weight.dtype() == dtype && weight.dim(0) == n && weight.dim(1) == k && weight.strides()[1] == 1 &&
         weight.strides()[0] == k && k % 8 == 0 && aligned(weight.raw(), 16);
}

// Where the biases of all experts lie, one behind the other; null: there are none. False: they do not.
bool list_biases(std::span<const ExpertWeights> experts, Tensor ExpertWeights::*part, int64_t n, const float*& first) {
  first = data_or_null<const float>(experts[0].*part);
  for (size_t i = 0; i < experts.size(); ++i) {
    const Tensor& bias = experts[i].*part;
    if (bias.defined() != (first != nullptr)) return false;
    if (first && (bias.strides()[0] != 1 || data_of<const float>(bias) != first + static_cast<int64_t>(i) * n)) {
      return false;
    }
  }
  return true;
}

// False: some weights are not as the kernels need them.
bool list_experts(std::span<const ExpertWeights> experts, ExpertTable& gates, ExpertTable& downs) {
  const int64_t inner = experts[0].gate.dim(0), hidden = experts[0].gate.dim(1);
  const DType dtype = experts[0].gate.dtype(), down_dtype = experts[0].down.dtype();
  if (dtype != down_dtype && !(is_packed(dtype) && is_packed(down_dtype))) return false;
  for (size_t i = 0; i < experts.size(); ++i) {
    const ExpertWeights& of = experts[i];
    if (!fits(of.gate, dtype, inner, hidden) || !fits(of.up, dtype, inner, hidden) ||
        !fits(of.down, down_dtype, hidden, inner)) {
      return false;
    }
    gates.first[i] = of.gate.raw();
    gates.second[i] = of.up.raw();
    downs.first[i] = of.down.raw();
  }
  return list_biases(experts, &ExpertWeights::gate_bias, inner, gates.first_bias) &&
         list_biases(experts, &ExpertWeights::up_bias, inner, gates.second_bias) &&
         list_biases(experts, &ExpertWeights::down_bias, hidden, downs.first_bias);
}

// Experts of f16 or bf16, few rows: gate and up of each row alone, then down of all of a token's.
struct RowPlans {
  WeightPlan gate, down;

  explicit RowPlans(const MixPlan& mix) : gate(mix.input) {
    gate.m = down.m = 1;
    gate.gated = true;
    gate.count = 2;
    gate.jobs[0] = {mix.gates.first[0], mix.inner, nullptr, nullptr, nullptr};
    gate.jobs[1] = {mix.gates.second[0], mix.inner, nullptr, nullptr, nullptr};
    down.k = down.ld = mix.inner;
    down.dtype = mix.down_dtype;
    down.steady = true;
    down.jobs[0] = {mix.downs.first[0], mix.hidden, mix.out, nullptr, mix.residual};
  }
};

void mix_rows(Device device, const MixPlan& mix, RowPlans plans) {
  const int64_t tokens = mix.input.m;
  const Scratch between(device, static_cast<size_t>(tokens * mix.chosen * mix.inner) * 4);
  plans.gate.jobs[0].out = between.as<void>();
  plans.down.x = between.as<void>();
  multiply_experts(device, plans.gate, mix.gates, tokens);
  multiply_experts(device, plans.down, mix.downs, tokens);
}

}  // namespace

bool route_experts(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice,
                   const RoutedExperts& routed) {
  const Tensor& x = input.x;
  const Tensor& weight = router.weight;
  if (x.dtype() != DType::kF32 || input.up.defined() || weight.strides()[1] != 1) return false;
  RoutePlan plan{};
  plan.input.m = x.dim(0);
  plan.input.k = plan.input.ld = x.dim(1);
  plan.input.x = x.raw();
  plan.input.norm_weight = data_or_null<const float>(input.norm_weight);
  plan.input.eps = input.eps;
  plan.weights = weight.raw();
  plan.ld = weight.strides()[0];
  plan.weights_dtype = weight.dtype();
  plan.bias = data_or_null<const float>(router.bias);
  plan.selection_bias = data_or_null<const float>(router.selection_bias);
  plan.experts = static_cast<int>(std::min<int64_t>(weight.dim(0), kMostExperts + 1));
  plan.chosen = static_cast<int>(std::min<int64_t>(choice.chosen, kMostChosen + 1));
  plan.groups = static_cast<int>(choice.groups);
  plan.chosen_groups = static_cast<int>(choice.chosen_groups);
  plan.renormalize = choice.renormalize;
  plan.sigmoid = choice.sigmoid;
  plan.scale = choice.scale;
  const Device device = x.device();
  const Runtime& use = runtime(device);
  plan.arrived = use.counters;
  if (plan.input.m > kMostTokens || !fits_routing(use, plan)) return false;
  const Scratch logits(device, static_cast<size_t>(plan.input.m * plan.experts) * 4);
  plan.logits = logits.as<float>();
  plan.ids = data_of<int32_t>(routed.ids);
  plan.routing_weights = data_of<float>(routed.weights);
  route(device, plan);
  return true;
}

bool mix_experts(const LinearInput& input, const RoutedExperts& routed, std::span<const ExpertWeights> experts,
                 ExpertGate gate, const Tensor& residual, const Tensor& out) {
  const Tensor& x = input.x;
  const int64_t tokens = x.dim(0), chosen = routed.ids.dim(1);
  MixPlan mix{};
  mix.input.dtype = experts[0].gate.dtype();
  mix.down_dtype = experts[0].down.dtype();
  const bool packed = is_packed(mix.input.dtype);
  if (tokens > kMostTokens || experts.size() > kMostListed || chosen > kMostChosen ||
      (mix.input.dtype != DType::kF16 && mix.input.dtype != DType::kBF16 && !packed) || !aligned(x.raw(), 16) ||
      input.up.defined() || !list_experts(experts, mix.gates, mix.downs)) {
    return false;
  }
  mix.hidden = x.dim(1);
  mix.inner = experts[0].gate.dim(0);
  mix.input.m = tokens;
  mix.input.k = mix.input.ld = mix.hidden;
  mix.input.x = x.raw();
  mix.input.norm_weight = data_or_null<const float>(input.norm_weight);
  mix.input.eps = input.eps;
  mix.residual = data_or_null<const float>(residual);
  mix.out = data_of<float>(out);
  mix.experts = static_cast<int>(experts.size());
  mix.clamped = gate == ExpertGate::kClamped;
  mix.chosen = mix.gates.chosen = mix.downs.chosen = static_cast<int>(chosen);
  mix.gates.ids = mix.downs.ids = data_of<const int32_t>(routed.ids);
  mix.downs.routing_weights = data_of<const float>(routed.weights);
  const Device device = x.device();
  const Runtime& use = runtime(device);
  const RowPlans plans(mix);
  const bool known = packed ? fits_packed_experts(use, mix)
                            : fits_one_row(use, plans.gate) && fits_one_row(use, plans.down, mix.chosen);
  if (!known) return false;
  const int64_t rows = tokens * chosen;
  if (packed) {
    // With fewer experts than pairs, some experts have several tokens.
    const bool few =
        mix.is_plain() && rows <= std::min<int64_t>(kFewPackedRows, mix.experts) && fits_packed_pairs(use, mix);
    few ? mix_packed_pairs(device, mix) : mix_packed_experts(device, mix);
  } else {
    mix.is_plain() && rows <= kFewRows ? mix_rows(device, mix, plans) : mix_grouped(device, mix);
  }
  return true;
}

}  // namespace wick::cuda
