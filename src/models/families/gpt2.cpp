#include "models/families/families.h"

namespace wick {

// LayerNorm, learned positions, a plain MLP; weights of its own files are transposed.
DecoderConfig gpt2_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  DecoderNames& names = decoder.names;
  names.embed = "transformer.wte";
  names.positions = "transformer.wpe";
  names.layers = "transformer.h.";
  names.final_norm = "transformer.ln_f";
  names.attn_norm = "ln_1";
  names.mlp_norm = "ln_2";
  names.q = "attn.q_proj";
  names.k = "attn.k_proj";
  names.v = "attn.v_proj";
  names.o = "attn.c_proj";
  names.up = "mlp.c_fc";
  names.down = "mlp.c_proj";
  decoder.transposed = true;
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "gelu_new"));
  decoder.attention_bias = decoder.output_bias = decoder.mlp_bias = true;
  decoder.tied = config.flag("tie_word_embeddings", true);
  rotate_nothing(decoder);
  return decoder;
}

// GPT-2 with matrices that are not transposed, and perhaps one key head for all.
DecoderConfig gpt_bigcode_config(const ConfigReader& config) {
  DecoderConfig decoder = gpt2_config(config);
  decoder.transposed = false;
  decoder.kv_heads = config.flag("multi_query", true) ? 1 : decoder.heads;
  decoder.activation = activation_named(config.text("hidden_act", "gelu_pytorch_tanh"));
  return decoder;
}

}  // namespace wick
