#include "speech/audio_layer.h"

namespace wick {
namespace {

constexpr float kEpsilon = 1e-5f;  // of PyTorch's LayerNorm; no config says otherwise

}  // namespace

EncoderLayer load_audio_layer(const AudioLayerConfig& config, const std::string& prefix, WeightLoader& loader) {
  const int64_t width = config.width;
  const auto norm = [&](const char* name) {
    return loader.norm(prefix + name, NormKind::kLayer, width, kEpsilon, true, true, 0);
  };
  EncoderLayer layer;
  layer.heads = config.heads;
  layer.attn_norm = norm("self_attn_layer_norm");
  layer.q = loader.linear(prefix + "self_attn.q_proj", width, width, true);
  layer.k = loader.linear(prefix + "self_attn.k_proj", width, width, config.key_bias);
  layer.v = loader.linear(prefix + "self_attn.v_proj", width, width, true);
  layer.out = loader.linear(prefix + "self_attn.out_proj", width, width, true);
  layer.mlp_norm = norm("final_layer_norm");
  layer.mlp.activation = config.activation;
  layer.mlp.up = loader.linear(prefix + "fc1", config.intermediate, width, true);
  layer.mlp.down = loader.linear(prefix + "fc2", width, config.intermediate, true);
  return layer;
}

}  // namespace wick
