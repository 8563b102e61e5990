#pragma once

#include <string>

#include "speech/ctc/wav2vec2_layer.h"

namespace wick {

// What the layers of a conformer share in one pass.
struct ConformerPlaces {
  Tensor relative;  // kRelative: f32 [2 rows - 1, width], the row for the distance d at rows - 1 - d
  Tensor cos, sin;  // kRotary: f32 [rows, head size / 2]
};
ConformerPlaces conformer_places(const Wav2Vec2Config& config, int64_t rows, const Device& device);

// A layer of wav2vec2's conformer: half an MLP, attention with relative or rotary places, a convolution over
// neighbouring rows, the other half of the MLP, a norm.
class ConformerLayer {
 public:
  ConformerLayer(const Wav2Vec2Config& config, const std::string& prefix, WeightLoader& loader, const Device& device);
  Tensor operator()(const Tensor& x, const ConformerPlaces& places) const;  // [rows, width]

 private:
  Tensor attend(const Tensor& x, const ConformerPlaces& places) const;
  Tensor attend_relative(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& places) const;
  Tensor convolve(const Tensor& x) const;

  int64_t width_;
  Activation activation_;
  Norm mlp1_norm_, mlp2_norm_, attn_norm_, conv_norm_, final_norm_;
  Wav2Vec2Mlp mlp1_, mlp2_;
  Wav2Vec2Attention attention_;
  Linear places_;                     // kRelative
  Tensor content_bias_, place_bias_;  // kRelative: f32 [heads, 1, head size]
  Linear pointwise_in_, pointwise_out_;
  Tensor depthwise_;                  // [width, 1, kernel]
  Tensor batch_scale_, batch_shift_;  // the batch norm, as it was when training ended
};

}  // namespace wick
