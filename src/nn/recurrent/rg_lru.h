#pragma once

#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/recurrent/mixer.h"

namespace wick {

// The recurrent block of Griffin (Recurrent Gemma): behind a causal convolution, each channel is an average h = a h +
// sqrt(1 - a^2) i u whose gates a and i depend on the token. a = exp(-speed * sigmoid(.)); the first token of a text
// comes in whole.
struct RgLru final : RecurrentMixer {
  int64_t width = 0, taps = 0;
  Linear in, gate, out;       // [width, hidden], [width, hidden], [hidden, width]
  Tensor conv_weight;         // f32 [taps, width]
  Tensor conv_bias;           // f32 [width]
  std::vector<Linear> gates;  // of each block of channels, [2 block, block]: i and a before their sigmoids
  Tensor speed;               // f32 [width], above zero
  Activation activation = Activation::kGeluTanh;

  // The convolution's history and h.
  std::vector<Shape> state_shapes() const override { return {{taps - 1, width}, {width, 1, 1}}; }
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;

 private:
  Tensor input_scale(const Tensor& falls, const MixerStep& step) const;
};

}  // namespace wick
