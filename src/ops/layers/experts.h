#pragma once

#include <cstdint>
#include <span>

#include "ops/layers/linear.h"
#include "tensor/tensor.h"

namespace wick {

// Mixtures of experts in two steps: each row of an input chooses, and is then sent through the chosen ones.

struct ExpertRouter {
  Tensor weight;               // [experts, hidden], any float or packed
  Tensor bias = {};            // f32 [experts]; undefined: none
  Tensor selection_bias = {};  // f32 [experts]: added to the scores for choosing only; undefined: none
};

// The best by score are chosen: the softmax of the router's logits, or the sigmoid of each. Equal ones go to the lower
// number.
struct ExpertChoice {
  int64_t chosen = 0;
  bool renormalize = true;  // the routing weights of the chosen ones add up to one
  float scale = 1;          // of the routing weights, afterwards
  bool sigmoid = false;
  // Experts are first narrowed down to the best groups. A group is as good as its best expert or, with sigmoids, its
  // two best together.
  int64_t groups = 1, chosen_groups = 1;
};

struct RoutedExperts {
  Tensor ids;      // i32 [rows, chosen], ascending
  Tensor weights;  // f32 [rows, chosen]
};
RoutedExperts route_experts(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice);

// Routing weights as one matrix f32 [rows, experts] on the host, 0 for those not chosen, and back: as many are chosen
// as the row with the most has routing weights that are not 0; in other rows experts with a weight of 0 fill up.
Tensor dense_routing_weights(const RoutedExperts& routed, int64_t experts);
RoutedExperts routed_experts(const Tensor& dense, Device device);

struct ExpertWeights {
  Tensor gate, up, down;                                // [inner, hidden] twice, [hidden, inner]
  Tensor gate_bias = {}, up_bias = {}, down_bias = {};  // f32; undefined: none
};
enum class ExpertGate : uint8_t {
  kSilu,
  kClamped
};  // silu(gate) * up, or Activation::kClampedSwiglu of nn/activation.h

// (residual +) the sum over a row's experts, by their number, of routing weight * (down(gate(x), up(x))): [rows,
// hidden]. Undefined where the device has no kernel for such weights. A row's bits do not depend on the other rows.
Tensor mix_experts(const LinearInput& input, const RoutedExperts& routed, std::span<const ExpertWeights> experts,
                   ExpertGate gate, const Tensor& residual);

// For kernels of the host: what the scores f32 [rows, experts], row-major, choose.
void choose_experts(const Tensor& scores, const Tensor& selection_bias, const ExpertChoice& choice,
                    const RoutedExperts& routed);

}  // namespace wick
