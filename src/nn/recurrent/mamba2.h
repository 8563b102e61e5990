#pragma once

#include <limits>

#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/recurrent/mixer.h"

namespace wick {

// The state space of Mamba 2: channels form heads that share one A, one dt and one D; groups of heads share B and C.
// A head's state h [states, head_dim] becomes exp(dt A) h + dt B x^T, and y = C h + D x.
struct Mamba2 final : RecurrentMixer {
  int64_t heads = 0, head_dim = 0, groups = 0, states = 0, taps = 0;
  Linear in;                       // [2 inner + 2 groups states + heads, hidden]: the gate, then x, B and C, then dt
  Linear out;                      // [hidden, inner]
  Tensor conv_weight;              // f32 [taps, inner + 2 groups states]
  Tensor conv_bias;                // undefined: none
  Tensor a;                        // f32 [heads], below zero
  Tensor d;                        // f32 [heads]
  Tensor dt_bias;                  // f32 [heads]
  Tensor norm_weight;              // f32 [inner]; undefined: no norm
  int64_t norm_groups = 1;         // the norm runs over each group's channels
  bool norms_before_gate = false;  // else what the gate lets through
  float norm_eps = 1e-5f;
  float least_dt = 0, most_dt = std::numeric_limits<float>::infinity();
  Activation activation = Activation::kSilu;
  float input_scale = 1, output_scale = 1;
  Tensor part_scales;  // f32, of what `in` gives; undefined: ones

  int64_t inner() const { return heads * head_dim; }
  int64_t conv_channels() const { return inner() + 2 * groups * states; }
  // The convolution's history and h.
  std::vector<Shape> state_shapes() const override { return {{taps - 1, conv_channels()}, {heads, states, head_dim}}; }
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;

 private:
  Tensor gated(const Tensor& y, const Tensor& gate) const;
};

}  // namespace wick
