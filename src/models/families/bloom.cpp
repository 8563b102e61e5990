#include "models/families/families.h"

namespace wick {

// LayerNorm, also behind the embedding; ALiBi; biases everywhere and a plain MLP.
DecoderConfig bloom_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  DecoderNames& names = decoder.names;
  names.embed = "transformer.word_embeddings";
  names.embed_norm = "transformer.word_embeddings_layernorm";
  names.layers = "transformer.h.";
  names.final_norm = "transformer.ln_f";
  names.q = "self_attention.q_proj";
  names.k = "self_attention.k_proj";
  names.v = "self_attention.v_proj";
  names.o = "self_attention.dense";
  names.up = "mlp.dense_h_to_4h";
  names.down = "mlp.dense_4h_to_h";
  decoder.gated = false;
  decoder.activation = Activation::kGeluTanh;
  decoder.attention_bias = decoder.output_bias = decoder.mlp_bias = true;
  decoder.tied = config.flag("tie_word_embeddings", true);
  rotate_nothing(decoder);
  decoder.alibi_slopes = alibi_slopes(decoder.heads);
  return decoder;
}

}  // namespace wick
