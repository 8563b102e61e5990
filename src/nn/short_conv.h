#pragma once

#include <span>

#include "hooks/batch_hooks.h"
#include "nn/linear.h"
#include "ops/recurrence.h"

namespace wick {

// Files hold filters as [channels, taps]; undefined stays undefined.
Tensor taps_first(const Tensor& filters);

// The gated short convolution of LFM2: b, c, x = in(h); out(c * conv(b * x)).
struct ShortConv {
  Linear in, out;
  Tensor weight;  // f32 [taps, hidden]
  Tensor bias;    // f32 [hidden]; undefined: none

  Tensor operator()(const Tensor& x, std::span<const StateRows> sequences, const BatchHooks& hooks, int layer) const;
};

}  // namespace wick
