#pragma once

#include <optional>

#include "hooks/batch_hooks.h"
#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

// down(activate(gate x) * up x), or down(activate(up x)) without a gate.
struct Mlp {
  Linear gate, up, down;
  Activation activation = Activation::kSilu;
  Xielu xielu;                      // of Activation::kXielu
  Norm sub_norm;                    // of what is activated, before `down`
  float gate_scale = 1, scale = 1;  // of the gate before it is activated; of what `down` gives
  // Of the gate only what lies above this many standard deviations from its mean counts, less those (Gemma 3n).
  std::optional<double> cut;

  // Of an input [tokens, hidden]; plus `residual`, where that is defined.
  Tensor operator()(const LinearInput& input, const Tensor& residual, const BatchHooks& hooks, int layer) const;

 private:
  Tensor run(const LinearInput& input, const Tensor& residual, const BatchHooks& hooks, int layer) const;
};

}  // namespace wick
