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

  Tensor operator()(const Tensor& x, const BatchHooks& hooks, int layer) const;  // [tokens, hidden]
  // x + the same of norm(x), without hooks, in as few kernels as the device allows.
  Tensor fused(const Norm& norm, const Tensor& x) const;
};

}  // namespace wick
