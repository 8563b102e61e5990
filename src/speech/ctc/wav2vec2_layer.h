#pragma once

#include <string>

#include "models/weight_loader.h"
#include "speech/conformer_layer.h"
#include "speech/ctc/wav2vec2_config.h"

namespace wick {

// Attention in both directions over all rows.
struct Wav2Vec2Attention {
  Linear q, k, v, out;
  int64_t heads = 1;
};

// y = down(activation(up(x))).
struct Wav2Vec2Mlp {
  Linear up, down;
  Activation activation = Activation::kGelu;

  Wav2Vec2Mlp() = default;
  Wav2Vec2Mlp(const Wav2Vec2Config& config, const std::string& name, WeightLoader& loader);
  Tensor operator()(const Tensor& x) const;
};

// A layer of wav2vec2: attention and an MLP, with norms behind them as in BERT or in front of them, and in models for
// many languages a small MLP of the language at the end.
class Wav2Vec2Layer {
 public:
  // `prefix`: of the names, with the dot.
  Wav2Vec2Layer(const Wav2Vec2Config& config, const std::string& prefix, WeightLoader& loader);
  Tensor operator()(const Tensor& x) const;  // [rows, width]

 private:
  Tensor attend(const Tensor& x) const;
  Tensor adapt(const Tensor& x) const;

  bool norm_first_, adapts_;
  Norm attn_norm_, mlp_norm_, adapter_norm_;
  Wav2Vec2Attention attention_;
  Wav2Vec2Mlp mlp_;
  Linear adapter_up_, adapter_down_;
};

}  // namespace wick
