#pragma once

#include <string>

#include "models/weight_loader.h"
#include "nn/activation.h"

namespace wick {

// Sizes of a conformer's layers, and what their tensors are called behind the layer's prefix.
struct ConformerConfig {
  enum class Positions : uint8_t { kNone, kRelative, kRotary };

  int64_t width = 0, heads = 1, intermediate = 0, kernel = 0;
  float eps = 1e-5f;
  Activation activation = Activation::kSilu;
  Positions positions = Positions::kRelative;
  double rotary_base = 10000;  // kRotary
  bool conv_bias = false;      // of the convolutions
  std::string mlp1_norm, mlp1_up, mlp1_down, attn_norm, conv_norm, conv, mlp2_norm, mlp2_up, mlp2_down, final_norm;
};
// As wav2vec2's conformer in Transformers calls them, and as NeMo does.
void use_wav2vec2_names(ConformerConfig& config);
void use_nemo_names(ConformerConfig& config);

// What the layers of a conformer share in one pass.
struct ConformerPlaces {
  Tensor relative;  // kRelative: f32 [2 rows - 1, width], the row for the distance d at rows - 1 - d
  Tensor cos, sin;  // kRotary: f32 [rows, head size / 2]
};
ConformerPlaces conformer_places(const ConformerConfig& config, int64_t rows, const Device& device);

// A layer of a conformer: half an MLP, attention with relative or rotary places, a convolution over neighbouring rows,
// the other half of the MLP, a norm.
class ConformerLayer {
 public:
  ConformerLayer(const ConformerConfig& config, const std::string& prefix, WeightLoader& loader, const Device& device);
  Tensor operator()(const Tensor& x, const ConformerPlaces& places) const;  // [rows, width]

 private:
  Tensor mlp(const Linear& up, const Linear& down, const Tensor& x) const { return down(activate(activation_, up(x))); }
  Tensor attend(const Tensor& x, const ConformerPlaces& places) const;
  Tensor attend_relative(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& places) const;
  Tensor convolve(const Tensor& x) const;

  int64_t width_, heads_;
  Activation activation_;
  Norm mlp1_norm_, mlp2_norm_, attn_norm_, conv_norm_, final_norm_;
  Linear mlp1_up_, mlp1_down_, mlp2_up_, mlp2_down_;
  Linear q_, k_, v_, out_;
  Linear places_;                     // kRelative
  Tensor content_bias_, place_bias_;  // kRelative: f32 [heads, 1, head size]
  Linear pointwise_in_, pointwise_out_;
  Tensor depthwise_, depthwise_bias_;  // [width, 1, kernel], [width]
  Tensor batch_scale_, batch_shift_;   // the batch norm, as it was when training ended
};

// [rows, width] to [1, heads, rows, width / heads] and back.
Tensor split_heads(const Tensor& rows, int64_t heads);
Tensor join_heads(const Tensor& heads);

}  // namespace wick
