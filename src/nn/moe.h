#pragma once

#include <optional>
#include <vector>

#include "nn/mlp.h"
#include "ops/layers/experts.h"

namespace wick {

// How tokens choose their experts.
struct Routing : ExpertChoice {
  int64_t experts = 0;
  // As PhiMoE chooses: the best expert, then the best of the others, each with its softmax among those whose score is
  // nearer to the best than twice this part of it. `chosen` is 2.
  std::optional<float> one_by_one;
  bool scales_input = false;  // what an expert reads is scaled by its routing weight, not what it gives (Llama 4)
};

// A mixture of experts: each token runs through the few that its router chooses, and through the shared one.
struct Moe {
  Routing routing;
  Linear router;
  Norm router_norm;  // of what the router reads; present: the input's own norm, where it has one, is the experts' alone
  Tensor expert_scale;    // f32 [experts, 1]: of the routing weights in the end; undefined: none
  Tensor selection_bias;  // f32 [experts]: added to the scores for choosing only; undefined: none
  std::vector<Mlp> experts;
  Mlp shared;          // undefined: none
  Linear shared_gate;  // sigmoid(shared_gate x) scales the shared expert; undefined: it counts fully

  // To be called once all is there: biases of one kind are put one behind the other, as kernels for all experts need
  // them.
  void prepare();

  // Of an input [tokens, hidden]; plus `residual`, where that is defined.
  Tensor operator()(const LinearInput& input, const Tensor& residual, const BatchHooks& hooks, int layer) const;

 private:
  // The chosen experts' outputs times their routing weights, plus `more`, where that is defined.
  Tensor mix(const LinearInput& input, const RoutedExperts& routed, const Tensor& more, int layer) const;
  // The same with the routing weights shown to the hooks, which may change them.
  Tensor mix_as_edited(const LinearInput& input, const RoutedExperts& routed, const Tensor& more,
                       const BatchHooks& hooks, int layer) const;
  Tensor mix_scaled(const LinearInput& input, const RoutedExperts& routed, int layer) const;
  RoutedExperts route(const LinearInput& input) const;
  Tensor run_shared(const LinearInput& input, int layer) const;

  // The experts as kernels take them; empty where they are not of that kind.
  std::vector<ExpertWeights> weights_;
  ExpertGate gate_ = ExpertGate::kSilu;
};

}  // namespace wick
