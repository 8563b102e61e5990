#pragma once

#include <string>
#include <vector>

#include "models/weight_loader.h"
#include "nn/attention.h"
#include "nn/mlp.h"
#include "nn/rope.h"

namespace wick {

// The transformer of a codec: causal, each position seeing a window, with what a half of a layer adds scaled by a
// vector (LayerScale).
struct CodecTransformerConfig {
  int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0;
  int64_t window = 0;  // positions that one sees, itself among them
  double theta = 10000;
  bool interleaved = false;  // rotation turns neighbouring pairs
  NormKind norm = NormKind::kLayer;
  float eps = 1e-5f;
  bool gated = false;  // the MLP
  Activation activation = Activation::kGelu;
  // Names of tensors.
  std::string prefix;  // of the layers: "encoder_transformer.layers."
  std::string attn_norm = "input_layernorm", mlp_norm = "post_attention_layernorm";
  std::string out = "self_attn.o_proj", gate, up = "mlp.fc1", down = "mlp.fc2";
  std::string attn_scale = "self_attn_layer_scale", mlp_scale = "mlp_layer_scale";
};

// What is carried from piece to piece: the keys and values inside the window.
struct CodecTransformerState {
  KvCache cache;
  int64_t position = 0;
};

// Immutable.
class CodecTransformer {
 public:
  CodecTransformer(const CodecTransformerConfig& config, WeightLoader& loader);

  CodecTransformerState new_state() const;
  // x [rows, hidden] goes on from where the state is; pieces give the bits of the whole.
  Tensor operator()(Tensor x, CodecTransformerState& state) const;
  int64_t hidden() const { return config_.hidden; }

 private:
  struct Layer {
    Norm attn_norm, mlp_norm;
    Attention attention;
    Mlp mlp;
    Tensor attn_scale, mlp_scale;
  };
  Tensor run(const Tensor& x, CodecTransformerState& state) const;

  CodecTransformerConfig config_;
  Device device_;
  std::vector<Layer> layers_;
  RopeTable rope_;
};

}  // namespace wick
