#include "models/families/families.h"

namespace wick {

// LayerNorm once per layer, attention and MLP side by side, biases everywhere, half of each head rotated.
DecoderConfig phi_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  decoder.names.o = "self_attn.dense";
  decoder.names.up = "mlp.fc1";
  decoder.names.down = "mlp.fc2";
  decoder.names.mlp_norm.clear();
  decoder.names.final_norm = "model.final_layernorm";
  decoder.parallel = true;
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "gelu_new"));
  decoder.attention_bias = decoder.output_bias = decoder.mlp_bias = decoder.head_bias = true;
  if (config.flag("qk_layernorm", false)) {
    decoder.qk_norm = QkNorm::kPerHead;
    decoder.qk_norm_kind = NormKind::kLayer;
    decoder.names.q_norm = "self_attn.q_layernorm";
    decoder.names.k_norm = "self_attn.k_layernorm";
  }
  return decoder;
}

}  // namespace wick
