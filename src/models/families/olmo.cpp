#include "models/families/families.h"

namespace wick {

// Llama, with LayerNorm that has no weights.
DecoderConfig olmo_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  decoder.norm_weights = false;
  decoder.clip_qkv = static_cast<float>(config.number("clip_qkv", 0));
  return decoder;
}

}  // namespace wick
