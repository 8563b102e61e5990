#pragma once

#include <span>
#include <vector>

#include "models/weight_loader.h"
#include "speech/ctc/wav2vec2_config.h"

namespace wick {

// The beginning of wav2vec2: convolutions over the samples, a projection to rows, and the positional
// convolution. Immutable.
class Wav2Vec2FeatureEncoder {
 public:
  Wav2Vec2FeatureEncoder(const Wav2Vec2Config& config, WeightLoader& loader, const Device& device);

  // Samples to f32 [frames, width]; there must be enough for a frame.
  Tensor operator()(std::span<const float> samples) const;

 private:
  struct Conv {
    Tensor weight, bias;            // [channels, channels before, kernel]; bias undefined: none
    Tensor norm_weight, norm_bias;  // undefined: no norm
    int64_t stride;
  };
  Tensor extract(const Conv& conv, const Tensor& x) const;
  Tensor add_places(const Tensor& x) const;

  Device device_;
  Activation activation_;
  bool layer_norm_;
  std::vector<Conv> convs_;
  Norm norm_;
  Linear projection_;
  Tensor places_weight_, places_bias_;  // undefined: rows get their places elsewhere
  int64_t places_groups_ = 1;
};

}  // namespace wick
