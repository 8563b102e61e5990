#include "models/families/families.h"

namespace wick {

// LayerNorm; attention and MLP side by side; one key head, or one per group in the new architecture.
DecoderConfig falcon_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  const bool grouped = config.flag("new_decoder_architecture", false);
  if (!grouped) decoder.kv_heads = config.flag("multi_query", true) ? 1 : decoder.heads;
  DecoderNames& names = decoder.names;
  names.embed = "transformer.word_embeddings";
  names.layers = "transformer.h.";
  names.final_norm = "transformer.ln_f";
  names.q = "self_attention.q_proj";
  names.k = "self_attention.k_proj";
  names.v = "self_attention.v_proj";
  names.o = "self_attention.dense";
  names.up = "mlp.dense_h_to_4h";
  names.down = "mlp.dense_4h_to_h";
  decoder.parallel = grouped || config.flag("parallel_attn", true);
  if (grouped && config.integer("num_ln_in_parallel_attn", 2) == 2) {
    names.attn_norm = "ln_attn";
    names.mlp_norm = "ln_mlp";
  } else if (decoder.parallel) {
    names.mlp_norm.clear();
  }
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "gelu"));
  decoder.attention_bias = decoder.output_bias = decoder.mlp_bias = config.flag("bias", false);
  if (config.flag("alibi", false)) {
    rotate_nothing(decoder);
    decoder.alibi_slopes = alibi_slopes(decoder.heads);
  }
  decoder.tied = config.flag("tie_word_embeddings", true);
  return decoder;
}

}  // namespace wick
