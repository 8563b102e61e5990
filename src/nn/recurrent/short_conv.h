#pragma once

#include "nn/linear.h"
#include "nn/recurrent/mixer.h"

namespace wick {

// The gated short convolution of LFM2: b, c, x = in(h); out(c * conv(b * x)).
struct ShortConv final : RecurrentMixer {
  Linear in, out;
  int64_t hidden = 0, taps = 0;
  Tensor weight;  // f32 [taps, hidden]
  Tensor bias;    // f32 [hidden]; undefined: none

  std::vector<Shape> state_shapes() const override { return {{taps - 1, hidden}}; }
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;
};

}  // namespace wick
