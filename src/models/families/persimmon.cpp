#include "models/families/families.h"

namespace wick {

// LayerNorm, also on heads, biases, a plain MLP and half of each head rotated.
DecoderConfig persimmon_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  decoder.kv_heads = decoder.heads;
  DecoderNames& names = decoder.names;
  names.final_norm = "model.final_layernorm";
  names.o = "self_attn.dense";
  names.up = "mlp.dense_h_to_4h";
  names.down = "mlp.dense_4h_to_h";
  names.q_norm = "self_attn.q_layernorm";
  names.k_norm = "self_attn.k_layernorm";
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "relu2"));
  decoder.attention_bias = decoder.output_bias = decoder.mlp_bias = true;
  if (config.flag("qk_layernorm", true)) {
    decoder.qk_norm = QkNorm::kPerHead;
    decoder.qk_norm_kind = NormKind::kLayer;
  }
  rotate_part(config, decoder, 0.5);
  return decoder;
}

}  // namespace wick
