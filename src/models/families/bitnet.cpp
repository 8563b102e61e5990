#include "models/families/families.h"

namespace wick {

// Llama, with norms before the last product of attention and MLP.
DecoderConfig bitnet_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.names.attn_sub_norm = "self_attn.attn_sub_norm";
  decoder.names.mlp_sub_norm = "mlp.ffn_sub_norm";
  decoder.activation = activation_named(config.text("hidden_act", "relu2"));
  return decoder;
}

}  // namespace wick
