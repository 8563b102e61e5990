#include "backends/cuda/experts_plan.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.cuh"

// Mixtures of experts. For few tokens each chosen expert's products are computed for its token alone.
namespace wick::cuda {
namespace {

constexpr int64_t kFewRows = 64;  // visits of tokens to experts
constexpr int64_t kMostTokens = 65535;

bool fits(const Tensor& weight, DType dtype, int64_t n, int64_t k) {
  return weight.dtype() == dtype && weight.dim(0) == n && weight.dim(1) == k && weight.strides()[1] == 1 &&
         weight.strides()[0] == k && k % 8 == 0 && aligned(weight.raw(), 16);
}

// False: some weights are not as the kernels need them.
bool list_experts(std::span<const ExpertWeights> experts, ExpertTable& gates, ExpertTable& downs) {
  const Tensor& first = *experts[0].gate;
  const int64_t inner = first.dim(0), hidden = first.dim(1);
  const DType dtype = first.dtype();
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
  return true;
}

}  // namespace

bool mix_experts(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice,
                 std::span<const ExpertWeights> experts, const Tensor& residual, const Tensor& out) {
  const Tensor& x = input.x;
  const int64_t tokens = x.dim(0), hidden = x.dim(1), inner = experts[0].gate->dim(0);
  const DType dtype = experts[0].gate->dtype();
  ExpertTable gates{}, downs{};
  if (tokens == 0 || tokens > kMostTokens || experts.size() > static_cast<size_t>(kMostExperts) ||
      (dtype != DType::kF16 && dtype != DType::kBF16) || !aligned(x.raw(), 16) || input.up.defined() ||
      !list_experts(experts, gates, downs)) {
    return false;
  }
  const Device device = x.device();
  const Runtime& use = runtime(device);
  const auto chosen = static_cast<int>(choice.chosen);
  const int64_t rows = tokens * chosen;

  WeightPlan plan;
  plan.m = 1;
  plan.k = plan.ld = hidden;
  plan.x = x.raw();
  plan.norm_weight = data_or_null<const float>(input.norm_weight);
  plan.eps = input.eps;
  plan.dtype = dtype;
  plan.gated = true;
  plan.count = 2;
  plan.jobs[0] = {gates.first[0], inner, nullptr, nullptr, nullptr};
  plan.jobs[1] = {gates.second[0], inner, nullptr, nullptr, nullptr};
  WeightPlan down;
  down.m = 1;
  down.k = down.ld = inner;
  down.dtype = dtype;
  down.steady = true;
  down.jobs[0] = {downs.first[0], hidden, out.raw(), nullptr, data_or_null<const float>(residual)};
  RoutePlan choosing{};
  choosing.input = plan;
  choosing.input.m = tokens;
  choosing.weights = router.weight.raw();
  choosing.ld = router.weight.strides()[0];
  choosing.weights_dtype = router.weight.dtype();
  choosing.bias = data_or_null<const float>(router.bias);
  choosing.selection_bias = data_or_null<const float>(router.selection_bias);
  choosing.arrived = use.counters;
  choosing.experts = static_cast<int>(experts.size());
  choosing.chosen = chosen;
  choosing.renormalize = choice.renormalize;
  choosing.sigmoid = choice.sigmoid;
  choosing.scale = choice.scale;
  if (!fits_routing(use, choosing) || !fits_one_row(use, plan) || !fits_one_row(use, down, chosen)) return false;

  const bool few = rows <= kFewRows;
  const Scratch logits(device, static_cast<size_t>(tokens * choosing.experts) * 4);
  const Scratch ids(device, static_cast<size_t>(rows) * 4), shares(device, static_cast<size_t>(rows) * 4);
  const Scratch between(device, few ? static_cast<size_t>(rows * inner) * 4 : 0);
  choosing.logits = logits.as<float>();
  choosing.ids = ids.as<int32_t>();
  choosing.shares = shares.as<float>();
  plan.jobs[0].out = between.as<void>();
  down.x = between.as<void>();
  gates.ids = downs.ids = ids.as<const int32_t>();
  gates.chosen = downs.chosen = chosen;
  downs.shares = shares.as<const float>();
  route(device, choosing);
  if (!few) {
    mix_grouped(device, {choosing.input, gates, downs, down.jobs[0].residual, data_of<float>(out), hidden, inner,
                         choosing.experts, chosen});
    return true;
  }
  multiply_experts(device, plan, gates, tokens);
  multiply_experts(device, down, downs, tokens);
  return true;
}

}  // namespace wick::cuda
