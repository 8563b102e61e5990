#pragma once

#include "nn/linear.h"
#include "nn/recurrent/mixer.h"

namespace wick {

inline constexpr float kRwkvNoExponent = -1e38f;  // before the first token

// RWKV-4's time mix: a running average of values, each weighed by e^key and forgotten at its channel's rate; `bonus` is
// added to the key of the token itself. Inputs are blends of a row with the row before.
struct RwkvTimeMix final : RecurrentMixer {
  int64_t hidden = 0, inner = 0;
  Linear key, value, receptance, out;
  Tensor blend_key, blend_value, blend_receptance;  // f32 [hidden]
  Tensor decay;                                     // f32 [inner]: by how much exponents fall per token, above zero
  Tensor bonus;                                     // f32 [inner]

  // The last row; sums of values and of weights, and the largest exponent so far.
  std::vector<Shape> state_shapes() const override { return {{hidden}, {3, inner}}; }
  void begin(std::span<const Tensor> state) const override;
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;

 private:
  Tensor average(const Tensor& keys, const Tensor& values, const MixerStep& step) const;
};

// sigmoid(receptance) * value(relu(key)^2), on blends of a row with the row before: stands in place of an MLP.
struct RwkvChannelMix final : RecurrentMixer {
  int64_t hidden = 0;
  Linear key, value, receptance;
  Tensor blend_key, blend_receptance;  // f32 [hidden]

  std::vector<Shape> state_shapes() const override { return {{hidden}}; }  // the last row
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;
};

}  // namespace wick
