#pragma once

#include <memory>

#include "models/language_model.h"
#include "models/recurrent/recurrent_step.h"
#include "models/weight_loader.h"
#include "nn/activation.h"

namespace wick {

class ConfigReader;

// The selective state space of Mamba. Each channel of u has a small state h, kept by exp(dt A) and fed with dt B u,
// where dt, B and C depend on the token: h = exp(dt A) h + dt B u; y = C h + D u.
struct MambaMixer {
  Linear in;           // [2 inner, hidden]: u and the gate
  Linear select;       // [rank + 2 state, inner]: dt before its projection, B, C
  Linear dt;           // [inner, rank]
  Linear out;          // [hidden, inner]
  Tensor conv_weight;  // f32 [taps, inner]
  Tensor conv_bias;    // f32 [inner]; undefined: none
  Tensor a;            // f32 [state, inner], below zero
  Tensor d;            // f32 [inner]
  Norm select_norm;    // of dt before its projection, of B and of C
  Activation activation = Activation::kSilu;

  // State tensors of the layer: the convolution's history [taps - 1, inner] and h [state, inner].
  Tensor operator()(const Tensor& x, const RecurrentStep& step, int layer) const;  // [tokens, hidden]

 private:
};

// How many channels Mamba and Mamba 2 work on inside: intermediate_size, or expand times the hidden size.
int64_t mamba_inner_size(const ConfigReader& config, int64_t hidden);

std::unique_ptr<LanguageModel> make_mamba(const ConfigReader& config, WeightLoader& loader,
                                          const ModelOptions& options);

}  // namespace wick
