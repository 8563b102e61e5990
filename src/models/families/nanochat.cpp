#include "models/families/families.h"

namespace wick {

// RMS norms without weights, also behind the embedding and on heads, which turn backwards; an MLP without a gate.
DecoderConfig nanochat_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.norm_weights = false;
  decoder.names.embed_norm = "model.embed_norm";
  decoder.names.q_norm.clear();
  decoder.names.k_norm.clear();
  decoder.qk_norm = QkNorm::kPerHead;
  decoder.names.up = "mlp.fc1";
  decoder.names.down = "mlp.fc2";
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "relu2"));
  decoder.logit_soft_cap = static_cast<float>(config.number("final_logit_softcapping", 15));
  for (RopeConfig& rope : decoder.ropes) rope.backwards = true;
  return decoder;
}

}  // namespace wick
