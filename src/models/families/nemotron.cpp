#include "models/families/families.h"

namespace wick {

// Llama, with LayerNorm around 1, an MLP without a gate and half of each head rotated.
DecoderConfig nemotron_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.norm = NormKind::kLayer;
  decoder.norm_eps = static_cast<float>(config.number("norm_eps", 1e-5));
  decoder.norm_offset = 1;
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "relu2"));
  rotate_part(config, decoder, 0.5);
  return decoder;
}

}  // namespace wick
