#pragma once

#include <limits>
#include <memory>

#include "models/language_model.h"
#include "models/recurrent/recurrent_step.h"
#include "models/weight_loader.h"
#include "nn/activation.h"

namespace wick {

class ConfigReader;

// The state space of Mamba 2: channels form heads that share one A, one dt and one D; groups of heads share B and C.
// A head's state h [state, head_dim] becomes exp(dt A) h + dt B x^T, and y = C h + D x.
struct Mamba2Mixer {
  Linear in;           // [2 inner + 2 groups state + heads, hidden]: the gate, then x, B and C, then dt
  Linear out;          // [hidden, inner]
  Tensor conv_weight;  // f32 [taps, inner + 2 groups state]
  Tensor conv_bias;    // undefined: none
  Tensor a;            // f32 [heads], below zero
  Tensor d;            // f32 [heads]
  Tensor dt_bias;      // f32 [heads]
  Tensor norm_weight;  // f32 [inner]: of the norm behind the gate, over each group's channels
  float norm_eps = 1e-5f;
  int64_t heads = 0, head_dim = 0, groups = 0, states = 0;
  float least_dt = 0, most_dt = std::numeric_limits<float>::infinity();
  Activation activation = Activation::kSilu;

  int64_t inner() const { return heads * head_dim; }
  int64_t conv_channels() const { return inner() + 2 * groups * states; }
  // State tensors of the layer: the convolution's history [taps - 1, conv_channels] and h [heads, state, head_dim].
  Tensor operator()(const Tensor& x, const RecurrentStep& step, int layer) const;  // [tokens, hidden]

 private:
  Tensor gated_norm(const Tensor& y, const Tensor& gate) const;
};

std::unique_ptr<LanguageModel> make_mamba2(const ConfigReader& config, WeightLoader& loader,
                                           const ModelOptions& options);

}  // namespace wick
