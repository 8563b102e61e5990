#include "models/families/families.h"

namespace wick {

// LayerNorm, attention and MLP side by side with a norm each, a quarter of each head rotated.
DecoderConfig gpt_neox_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  DecoderNames& names = decoder.names;
  names.embed = "gpt_neox.embed_in";
  names.layers = "gpt_neox.layers.";
  names.final_norm = "gpt_neox.final_layer_norm";
  names.head = "embed_out";
  names.q = "attention.q_proj";
  names.k = "attention.k_proj";
  names.v = "attention.v_proj";
  names.o = "attention.dense";
  names.up = "mlp.dense_h_to_4h";
  names.down = "mlp.dense_4h_to_h";
  decoder.parallel = config.flag("use_parallel_residual", true);
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "gelu"));
  decoder.attention_bias = decoder.output_bias = config.flag("attention_bias", true);
  decoder.mlp_bias = true;
  rotate_part(config, decoder, 0.25);
  return decoder;
}

}  // namespace wick
