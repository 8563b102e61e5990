#include "nn/moe.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/thread_pool.h"
#include "ops/add.h"
#include "ops/fused_kernels.h"
#include "ops/index_add.h"
#include "ops/index_select.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/reshape.h"
#include "ops/sigmoid.h"
#include "ops/softmax.h"
#include "ops/stack.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Indices of the `count` largest of `scores`, best first; equal ones by number.
void take_best(std::span<const float> scores, int64_t count, std::vector<int64_t>& best) {
  best.resize(scores.size());
  std::iota(best.begin(), best.end(), 0);
  const auto better = [&](int64_t a, int64_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(best.begin(), best.begin() + count, best.end(), better);
  best.resize(static_cast<size_t>(count));
}

// Experts outside the best groups lose their chance. A group is as good as its two best experts together.
void keep_best_groups(std::span<float> scores, const Routing& routing) {
  const auto size = static_cast<size_t>(routing.experts / routing.groups);
  std::vector<float> group_scores;
  for (size_t begin = 0; begin < scores.size(); begin += size) {
    float first = -std::numeric_limits<float>::infinity(), second = first;
    for (size_t i = begin; i < begin + size; ++i) {
      if (scores[i] > first) {
        second = first;
        first = scores[i];
      } else if (scores[i] > second) {
        second = scores[i];
      }
    }
    group_scores.push_back(routing.kind == RouterKind::kSigmoid ? first + second : first);
  }
  std::vector<int64_t> best;
  take_best(group_scores, routing.chosen_groups, best);
  for (size_t group = 0; group < group_scores.size(); ++group) {
    if (std::find(best.begin(), best.end(), static_cast<int64_t>(group)) != best.end()) continue;
    std::fill_n(scores.begin() + static_cast<int64_t>(group * size), size, -std::numeric_limits<float>::infinity());
  }
}

Tensor expert_scores(const Tensor& logits, const Routing& routing) {
  return (routing.kind == RouterKind::kSoftmax ? softmax(logits, -1) : sigmoid(logits)).contiguous();
}

Tensor on_host(const Tensor& x) { return !x.defined() || x.device().is_host() ? x : x.to_device(Device::cpu()); }

// The rows whose weight for one expert is not zero.
struct RoutedRows {
  Tensor rows;  // i64
  std::vector<float> weights;
};

RoutedRows routed_to(const Tensor& weights, int64_t expert) {
  const float* w = weights.data<float>() + expert;
  const int64_t tokens = weights.dim(0), experts = weights.dim(1);
  RoutedRows routed;
  std::vector<int64_t> rows;
  for (int64_t token = 0; token < tokens; ++token) {
    if (w[token * experts] == 0) continue;
    rows.push_back(token);
    routed.weights.push_back(w[token * experts]);
  }
  if (!rows.empty()) routed.rows = from_vector(rows, {static_cast<int64_t>(rows.size())});
  return routed;
}

}  // namespace

Tensor expert_weights(const Tensor& logits, const Tensor& selection_bias, const Routing& routing) {
  const Tensor scores = on_host(expert_scores(logits, routing));
  Tensor weights = zeros(scores.shape());
  const auto experts = static_cast<size_t>(routing.experts);
  const Tensor host_bias = on_host(selection_bias);
  const float* bias = host_bias.defined() ? host_bias.data<float>() : nullptr;
  std::vector<float> choosing(experts);
  std::vector<int64_t> best;
  for (int64_t token = 0; token < scores.dim(0); ++token) {
    const float* score = scores.data<float>() + token * routing.experts;
    float* weight = weights.mutable_data<float>() + token * routing.experts;
    for (size_t i = 0; i < experts; ++i) choosing[i] = score[i] + (bias ? bias[i] : 0);
    if (routing.groups > 1) keep_best_groups(choosing, routing);
    take_best(choosing, routing.chosen, best);
    float sum = 0;
    for (const int64_t expert : best) sum += score[expert];
    const float factor = routing.scale / (routing.renormalize && sum > 0 ? sum : 1);
    for (const int64_t expert : best) weight[expert] = score[expert] * factor;
  }
  return weights;
}

// The experts' answers to rows of x, added up by their number: on other devices than the host with ops.
Tensor Moe::mix_on_device(const Tensor& x, const Tensor& weights, int layer) const {
  const Device device = x.device();
  const BatchHooks unhooked;
  Tensor out = zeros(x.shape(), DType::kF32, device);
  for (size_t expert = 0; expert < experts.size(); ++expert) {
    const RoutedRows routed = routed_to(weights, static_cast<int64_t>(expert));
    if (routed.weights.empty()) continue;
    const Tensor rows = routed.rows.to_device(device);
    const Tensor shares = from_vector(routed.weights, {static_cast<int64_t>(routed.weights.size()), 1}, device);
    out = index_add(out, 0, rows, mul(experts[expert](index_select(x, 0, rows), unhooked, layer), shares));
  }
  return out;
}

Tensor Moe::mix_on_host(const Tensor& x, const Tensor& weights, int layer) const {
  const BatchHooks unhooked;
  const int64_t hidden = x.dim(1);
  Tensor out = zeros(x.shape());
  float* sums = out.mutable_data<float>();
  // A token's experts are added by their number, whoever else is in the batch.
  for (size_t expert = 0; expert < experts.size(); ++expert) {
    const RoutedRows routed = routed_to(weights, static_cast<int64_t>(expert));
    if (routed.weights.empty()) continue;
    const Tensor y = experts[expert](index_select(x, 0, routed.rows), unhooked, layer).contiguous();
    const int64_t* rows = routed.rows.data<int64_t>();
    parallel_for(static_cast<int64_t>(routed.weights.size()), 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* from = y.data<float>() + i * hidden;
        float* to = sums + rows[i] * hidden;
        const float weight = routed.weights[static_cast<size_t>(i)];
        for (int64_t j = 0; j < hidden; ++j) to[j] += weight * from[j];
      }
    });
  }
  return out;
}

std::optional<Tensor> Moe::mix_fused(const LinearInput& input, const Tensor& residual) const {
  const Tensor& x = input.x;
  const FusedKernels* fused = fused_kernels(x.device());
  if (!fused || x.dtype() != DType::kF32 || !x.is_contiguous() || router.input_order.defined() ||
      router.weight.strides()[1] != 1) {
    return std::nullopt;
  }
  const Activation activation = experts[0].activation;
  if (activation != Activation::kSilu && activation != Activation::kClampedSwiglu) return std::nullopt;
  const ExpertGate gate = activation == Activation::kSilu ? ExpertGate::kSilu : ExpertGate::kClamped;
  std::vector<ExpertWeights> weights;
  for (const Mlp& expert : experts) {
    for (const Linear* linear : {&expert.gate, &expert.up, &expert.down}) {
      if (!linear->defined() || linear->input_order.defined()) return std::nullopt;
    }
    if (expert.activation != activation) return std::nullopt;
    const auto bias = [](const Linear& linear) { return linear.bias.defined() ? &linear.bias : nullptr; };
    weights.push_back({&expert.gate.weight, &expert.up.weight, &expert.down.weight, bias(expert.gate), bias(expert.up),
                       bias(expert.down)});
  }
  const Tensor out = empty(x.shape(), DType::kF32, x.device());
  const ExpertChoice choice{routing.chosen, routing.renormalize,  routing.scale, routing.kind == RouterKind::kSigmoid,
                            routing.groups, routing.chosen_groups};
  const ExpertRouter chooser{router.weight, router.bias, selection_bias};
  if (!fused->mix_experts(input, chooser, choice, weights, gate, residual, out)) return std::nullopt;
  return out;
}

void Moe::stack_biases() {
  for (Linear Mlp::*part : {&Mlp::gate, &Mlp::up, &Mlp::down}) {
    std::vector<Tensor> biases;
    for (const Mlp& expert : experts) {
      if ((expert.*part).bias.defined()) biases.push_back((expert.*part).bias);
    }
    if (biases.empty() || biases.size() != experts.size()) continue;
    const Tensor all = stack(biases, 0);
    for (size_t i = 0; i < experts.size(); ++i) {
      (experts[i].*part).bias = reshape(narrow(all, 0, static_cast<int64_t>(i), 1), {all.dim(1)});
    }
  }
}

Tensor Moe::fused(const Norm& norm, const Tensor& x) const {
  const bool shares = shared.up.defined();
  if (!shared_gate.defined()) {
    if (const auto out = mix_fused(norm.input_for(x), shares ? shared.fused(norm, x) : x)) return *out;
  }
  return add(x, (*this)(norm(x), {}, 0));
}

Tensor Moe::mix(const Tensor& x, const BatchHooks& hooks, int layer) const {
  if (!hooks.active()) {
    if (const auto out = mix_fused({x}, {})) return *out;
  }
  const Tensor logits = router(x);
  const Tensor weights = hooks(HookPoint::kRouter, layer, expert_weights(logits, selection_bias, routing)).contiguous();
  return x.device().is_host() ? mix_on_host(x, weights, layer) : mix_on_device(x, weights, layer);
}

Tensor Moe::operator()(const Tensor& x, const BatchHooks& hooks, int layer) const {
  const Tensor out = mix(x, hooks, layer);
  if (!shared.up.defined()) return out;
  const BatchHooks unhooked;
  const Tensor y = shared(x, unhooked, layer);
  return add(out, shared_gate.defined() ? mul(y, sigmoid(shared_gate(x))) : y);
}

}  // namespace wick
