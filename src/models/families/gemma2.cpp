#include "models/families/families.h"

#include <cmath>

namespace wick {

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

}  // namespace wick
