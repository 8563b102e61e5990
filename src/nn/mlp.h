#pragma once

#include "hooks/batch_hooks.h"
#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

// down(activate(gate x) * up x), or down(activate(up x)) without a gate.
struct Mlp {
  Linear gate, up, down;
  Activation activation = Activation::kSilu;
  Xielu xielu;    // of Activation::kXielu
  Norm sub_norm;  // of what is activated, before `down`

  // Of an input [tokens, hidden]; plus `residual`, where that is defined.
  Tensor operator()(const LinearInput& input, const Tensor& residual, const BatchHooks& hooks, int layer) const;
};

}  // namespace wick
