#include <cmath>

#include "models/families/families.h"

namespace wick {

// Llama, with norms around 1, scaled embeddings and GELU.
DecoderConfig gemma_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.norm_offset = 1;
  decoder.embedding_scale = std::sqrt(static_cast<float>(decoder.hidden));
  // The oldest files say "gelu" and mean the tanh form; hidden_activation is right where there is one.
  decoder.activation = activation_named(config.text("hidden_activation", "gelu_pytorch_tanh"));
  decoder.head_dim = config.integer("head_dim", 256);
  decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions)};
  decoder.tied = config.flag("tie_word_embeddings", true);
  return decoder;
}

// Gemma, with norms before and after each part, soft caps and a window on every other layer.
DecoderConfig gemma2_config(const ConfigReader& config) {
  DecoderConfig decoder = gemma_config(config);
  decoder.names.attn_post_norm = "post_attention_layernorm";
  decoder.names.mlp_norm = "pre_feedforward_layernorm";
  decoder.names.mlp_post_norm = "post_feedforward_layernorm";
  decoder.attention_scale = 1 / std::sqrt(static_cast<float>(config.number("query_pre_attn_scalar", 256)));
  decoder.attention_soft_cap = static_cast<float>(config.number("attn_logit_softcapping", 0));
  decoder.logit_soft_cap = static_cast<float>(config.number("final_logit_softcapping", 0));
  read_alternating_windows(config, decoder, 2);
  return decoder;
}

DecoderConfig vaultgemma_config(const ConfigReader& config) {  // Gemma 2 without the norms behind
  DecoderConfig decoder = gemma2_config(config);
  decoder.names.attn_post_norm.clear();
  decoder.names.mlp_post_norm.clear();
  return decoder;
}

std::vector<RopeConfig> gemma_ropes(const ConfigReader& config, const DecoderConfig& decoder) {
  const RopeConfig full = read_rope(config, decoder.head_dim, decoder.max_positions, 1e6, "full_attention");
  RopeConfig local = read_rope(config, decoder.head_dim, decoder.max_positions, 1e4, "sliding_attention");
  if (!config.has("rope_parameters")) {
    local = RopeConfig{};
    local.dim = decoder.head_dim;
    local.max_positions = decoder.max_positions;
    local.theta = config.number("rope_local_base_freq", 10000);
  }
  return {full, local};
}

// Gemma 2 without caps, with norms on q and k, and one rope for windows and one for full layers.
DecoderConfig gemma3_config(const ConfigReader& config) {
  DecoderConfig decoder = gemma2_config(config);
  decoder.qk_norm = QkNorm::kPerHead;
  read_alternating_windows(config, decoder, config.integer("sliding_window_pattern", 6));
  decoder.ropes = gemma_ropes(config, decoder);
  for (LayerKind& kind : decoder.kinds) kind.rope = kind.window > 0 ? 1 : 0;
  return decoder;
}

}  // namespace wick
