#include "models/families/families.h"

namespace wick {

// Llama, with neighbouring components of a head rotated together: ERNIE 4.5, Helium.
DecoderConfig interleaved_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.attention_bias = config.flag("attention_bias", config.flag("use_bias", false));
  decoder.output_bias = decoder.mlp_bias = config.flag("use_bias", false);
  for (RopeConfig& rope : decoder.ropes) rope.interleaved = true;
  return decoder;
}

// The same with biases on q, k and v.
DecoderConfig glm_config(const ConfigReader& config) {
  DecoderConfig decoder = interleaved_config(config);
  decoder.attention_bias = config.flag("attention_bias", true);
  decoder.output_bias = false;
  rotate_part(config, decoder, 0.5);
  return decoder;
}

}  // namespace wick
