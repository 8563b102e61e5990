#pragma once

#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/recurrent/mixer.h"

namespace wick {

// The selective state space of Mamba. Each channel of u has a small state h, kept by exp(dt A) and fed with dt B u,
// where dt, B and C depend on the token: h = exp(dt A) h + dt B u; y = C h + D u.
struct Mamba final : RecurrentMixer {
  int64_t inner = 0, states = 0, rank = 0, taps = 0;
  Linear in;                     // [2 inner, hidden]: u and the gate
  Linear select;                 // [rank + 2 states, inner]: dt before its projection, B, C
  Linear dt;                     // [inner, rank]
  Linear out;                    // [hidden, inner]
  Tensor conv_weight;            // f32 [taps, inner]
  Tensor conv_bias;              // f32 [inner]; undefined: none
  Tensor a;                      // f32 [states, inner], below zero
  Tensor d;                      // f32 [inner]
  Norm dt_norm, b_norm, c_norm;  // of dt before its projection, of B and of C
  Activation activation = Activation::kSilu;

  // The convolution's history and h.
  std::vector<Shape> state_shapes() const override { return {{taps - 1, inner}, {states, inner}}; }
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;
};

}  // namespace wick
