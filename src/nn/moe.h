#pragma once

#include <optional>
#include <vector>

#include "nn/mlp.h"

namespace wick {

enum class RouterKind : uint8_t { kSoftmax, kSigmoid };

// How tokens choose their experts.
struct Routing {
  int64_t experts = 0, chosen = 0;
  RouterKind kind = RouterKind::kSoftmax;
  bool renormalize = true;                // the weights of the chosen ones add up to one
  float scale = 1;                        // of the weights, afterwards
  int64_t groups = 1, chosen_groups = 1;  // experts are first narrowed down to the best groups
};

// A mixture of experts: each token runs through the few that its router chooses, and through the shared one.
struct Moe {
  Routing routing;
  Linear router;
  Tensor selection_bias;  // f32 [experts]: added to the scores for choosing only; undefined: none
  std::vector<Mlp> experts;
  Mlp shared;          // undefined: none
  Linear shared_gate;  // sigmoid(shared_gate x) scales the shared expert; undefined: it counts fully

  // The experts' biases of one kind one behind the other, as kernels for all of them need them.
  void stack_biases();

  Tensor operator()(const Tensor& x, const BatchHooks& hooks, int layer) const;  // [tokens, hidden]
  // x + the same of norm(x), without hooks, in as few kernels as the device allows.
  Tensor fused(const Norm& norm, const Tensor& x) const;

 private:
  Tensor mix(const Tensor& x, const BatchHooks& hooks, int layer) const;  // without the shared expert
  // residual, where defined, and the mixture for the input, all on the device; empty where it has no kernel for it.
  std::optional<Tensor> mix_fused(const LinearInput& input, const Tensor& residual) const;
  // `weights` is on the host.
  Tensor mix_on_host(const Tensor& x, const Tensor& weights, int layer) const;
  Tensor mix_on_device(const Tensor& x, const Tensor& weights, int layer) const;
};

// The weight of each expert for each token [tokens, experts], 0 for those not chosen, from the router's logits. Equal
// scores go to the lower number. On the host, wherever the logits are.
Tensor expert_weights(const Tensor& logits, const Tensor& selection_bias, const Routing& routing);

}  // namespace wick
