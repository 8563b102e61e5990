#include "models/families/families.h"

namespace wick {

// Llama, with norms on each head and an MLP without a gate under an activation that has weights.
DecoderConfig apertus_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.names.attn_norm = "attention_layernorm";
  decoder.names.mlp_norm = "feedforward_layernorm";
  decoder.qk_norm = QkNorm::kPerHead;
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "xielu"));
  return decoder;
}

}  // namespace wick
