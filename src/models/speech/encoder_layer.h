#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/weight_loader.h"
#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

struct EncoderLayerConfig {
  int64_t width = 0, heads = 0, intermediate = 0;
  Activation activation = Activation::kGelu;
  bool key_bias = true;
};

// A layer of the encoders that descend from Whisper's: attention in both directions and an MLP, each behind a LayerNorm
// and adding to its input. Rows see those of their own window alone.
class EncoderLayer {
 public:
  // `prefix`: of the names, with the dot: "model.audio_tower.layers.0.".
  EncoderLayer(const EncoderLayerConfig& config, const std::string& prefix, WeightLoader& loader);

  // x [rows, width]; windows: their lengths, which follow each other and add up to the rows. A row's result depends on
  // its window alone, bit for bit.
  Tensor operator()(const Tensor& x, std::span<const int64_t> windows) const;

 private:
  Tensor attend(const Tensor& x, std::span<const int64_t> windows) const;

  int64_t heads_;
  Activation activation_;
  Norm attn_norm_, mlp_norm_;
  Linear q_, k_, v_, out_, up_, down_;
};

}  // namespace wick
