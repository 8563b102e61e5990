#include "ops/layers/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/check.h"
#include "ops/softmax.h"
#include "ops/unary.h"

namespace wick {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// Indices of the `count` largest of `scores`, best first; equal ones by number.
void take_best(std::span<const float> scores, int64_t count, std::vector<int32_t>& best) {
  best.resize(scores.size());
  std::iota(best.begin(), best.end(), 0);
  const auto better = [&](int32_t a, int32_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(best.begin(), best.begin() + count, best.end(), better);
  best.resize(static_cast<size_t>(count));
}

void keep_best_groups(std::span<float> scores, const ExpertChoice& choice) {
  const size_t size = scores.size() / static_cast<size_t>(choice.groups);
  std::vector<float> group_scores;
  for (size_t begin = 0; begin < scores.size(); begin += size) {
    float first = kLeast, second = kLeast;
    for (size_t i = begin; i < begin + size; ++i) {
      if (scores[i] > first) {
        second = first;
        first = scores[i];
      } else if (scores[i] > second) {
        second = scores[i];
      }
    }
    group_scores.push_back(choice.sigmoid ? first + second : first);
  }
  std::vector<int32_t> best;
  take_best(group_scores, choice.chosen_groups, best);
  for (size_t group = 0; group < group_scores.size(); ++group) {
    if (std::find(best.begin(), best.end(), static_cast<int32_t>(group)) != best.end()) continue;
    std::fill_n(scores.begin() + static_cast<ptrdiff_t>(group * size), size, kLeast);
  }
}

void check_choice(int64_t experts, const ExpertChoice& choice) {
  const bool fits = experts > 0 && choice.chosen > 0 && choice.groups > 0 && experts % choice.groups == 0 &&
                    choice.chosen_groups > 0 && choice.chosen_groups <= choice.groups &&
                    choice.chosen <= experts / choice.groups * choice.chosen_groups;
  if (fits) return;
  throw Error(ErrorCode::kInvalidArgument,
              cat("route_experts: ", choice.chosen, " of ", experts, " experts in ", choice.chosen_groups, " of ",
                  choice.groups, " groups cannot be chosen"));
}

// Where the device has no kernel for such a router: scores come to the host.
RoutedExperts route_on_host(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice) {
  LinearJob job{router.weight, router.bias};
  linear(input, {&job, 1});
  const Tensor scores = (choice.sigmoid ? sigmoid(job.out) : softmax(job.out, -1)).to_device(Device::cpu());
  const Tensor bias = router.selection_bias.defined() ? router.selection_bias.to_device(Device::cpu()) : Tensor();
  const Shape shape{scores.dim(0), choice.chosen};
  const RoutedExperts routed{empty(shape, DType::kI32), empty(shape, DType::kF32)};
  choose_experts(scores, bias, choice, routed);
  return {routed.ids.to_device(input.x.device()), routed.weights.to_device(input.x.device())};
}

}  // namespace

void choose_experts(const Tensor& scores, const Tensor& selection_bias, const ExpertChoice& choice,
                    const RoutedExperts& routed) {
  const auto experts = static_cast<size_t>(scores.dim(1));
  const float* bias = selection_bias.defined() ? selection_bias.data<float>() : nullptr;
  auto* id = routed.ids.mutable_data<int32_t>();
  auto* weight = routed.weights.mutable_data<float>();
  std::vector<float> choosing(experts);
  std::vector<int32_t> best;
  for (int64_t row = 0; row < scores.dim(0); ++row) {
    const float* score = scores.data<float>() + row * scores.dim(1);
    for (size_t i = 0; i < experts; ++i) {
      choosing[i] = score[i] + (bias ? bias[i] : 0);
      if (std::isnan(choosing[i])) choosing[i] = kLeast;
    }
    if (choice.groups > 1) keep_best_groups(choosing, choice);
    take_best(choosing, choice.chosen, best);
    float sum = 0;
    for (const int32_t expert : best) sum += score[expert];
    const float factor = choice.scale / (choice.renormalize && sum > 0 ? sum : 1);
    std::sort(best.begin(), best.end());
    for (const int32_t expert : best) {
      *id++ = expert;
      *weight++ = score[expert] * factor;
    }
  }
}

RoutedExperts route_experts(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice) {
  check_rank("route_experts", "the router", router.weight, 2);
  check_choice(router.weight.dim(0), choice);
  const Device device = input.x.device();
  const auto kernel = device.kernels().route_experts;
  if (kernel && input.x.is_contiguous() && input.x.dim(0) > 0) {
    const Shape shape{input.x.dim(0), choice.chosen};
    const RoutedExperts routed{empty(shape, DType::kI32, device), empty(shape, DType::kF32, device)};
    if (kernel(input, router, choice, routed)) return routed;
  }
  return route_on_host(input, router, choice);
}

Tensor dense_routing_weights(const RoutedExperts& routed, int64_t experts) {
  const Tensor ids = routed.ids.to_device(Device::cpu()), values = routed.weights.to_device(Device::cpu());
  const int64_t rows = ids.dim(0), chosen = ids.dim(1);
  Tensor dense = zeros({rows, experts});
  for (int64_t i = 0; i < rows * chosen; ++i) {
    const int32_t expert = ids.data<int32_t>()[i];
    if (expert >= 0 && expert < experts) {
      dense.mutable_data<float>()[i / chosen * experts + expert] = values.data<float>()[i];
    }
  }
  return dense;
}

RoutedExperts routed_experts(const Tensor& dense, Device device) {
  const Tensor host = dense.to_device(Device::cpu()).contiguous();
  const int64_t rows = host.dim(0), experts = host.dim(1);
  const float* values = host.data<float>();
  int64_t most = 1;
  for (int64_t row = 0; row < rows; ++row) {
    most = std::max<int64_t>(most, experts - std::count(values + row * experts, values + (row + 1) * experts, 0.0f));
  }
  const Tensor ids = empty({rows, most}, DType::kI32), weights = empty({rows, most}, DType::kF32);
  auto* id = ids.mutable_data<int32_t>();
  auto* weight = weights.mutable_data<float>();
  for (int64_t row = 0; row < rows; ++row) {
    const float* of = values + row * experts;
    int64_t missing = most - (experts - std::count(of, of + experts, 0.0f));
    for (int32_t expert = 0; expert < experts; ++expert) {
      if (of[expert] == 0 && missing-- <= 0) continue;
      *id++ = expert;
      *weight++ = of[expert];
    }
  }
  return {ids.to_device(device), weights.to_device(device)};
}

Tensor mix_experts(const LinearInput& input, const RoutedExperts& routed, std::span<const ExpertWeights> experts,
                   ExpertGate gate, const Tensor& residual) {
  const auto kernel = input.x.device().kernels().mix_experts;
  if (!kernel || input.x.dtype() != DType::kF32 || !input.x.is_contiguous()) return {};
  if (residual.defined() && residual.shape() != input.x.shape()) {
    throw Error(ErrorCode::kShape, cat("mix_experts: residual ", residual.shape(), ", expected ", input.x.shape()));
  }
  Tensor out = empty(input.x.shape(), DType::kF32, input.x.device());
  if (input.x.dim(0) == 0) return out;
  return kernel(input, routed, experts, gate, residual.defined() ? residual.contiguous() : residual, out) ? out
                                                                                                          : Tensor();
}

}  // namespace wick
