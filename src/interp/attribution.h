#pragma once

#include <span>
#include <string>
#include <vector>

#include "interp/interp_model.h"

namespace wick {

// What is attributed: the logit of a token at a position, or by how much it is above another's.
struct AttributionTarget {
  int32_t token = 0;
  int32_t other = -1;     // below zero: none
  int64_t position = -1;  // below zero: from the end
};

// One part of a logit.
struct Contribution {
  enum class Part : uint8_t { kEmbed, kAttention, kMlp, kHead, kNeuron, kBias };

  Part part = Part::kEmbed;
  int layer = -1;
  int64_t index = -1;  // of a head or neuron; -1: none
  double value = 0;
};
// "embed", "attn 3", "mlp 3", "head 3.5", "neuron 3.117", "bias".
std::string to_string(const Contribution& contribution);

struct AttributionOptions {
  bool by_head = false;  // attention apart by head where the layer has them, with one bias for all layers together
  HookSpec hooks;        // edits of the run
};

struct Attribution {
  std::vector<Contribution> parts;  // in the order of the forward pass, the bias last
  double logit = 0;                 // the model's own, before its soft cap
  double sum() const;               // of the parts: the logit up to rounding
};

// Direct logit attribution: every part of the model adds a vector to the residual stream, the last norm (with its scale
// as it was in this run) and the output projection are linear, so the logit is a sum over parts. By layer: what entered
// the first layer, each attention (or other mixer), each MLP; the biases of the last norm and the projection are one
// part. With quantised weights heads add up to their layer up to the rounding of the product.
Attribution attribute_logit(const InterpModel& model, std::span<const int32_t> tokens, const AttributionTarget& target,
                            const AttributionOptions& options = {});

// The neurons (inputs of the MLP's last product) of all layers with the largest contributions, by size, at most `top`.
// Throws Error(kUnsupported) when no layer has single neurons (experts, Mamba, RWKV).
std::vector<Contribution> attribute_neurons(const InterpModel& model, std::span<const int32_t> tokens,
                                            const AttributionTarget& target, int64_t top = 20);

}  // namespace wick
