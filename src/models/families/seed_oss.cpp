#include "models/families/families.h"

namespace wick {

// Llama, with biases on q, k and v and, by a setting of its own, on o.
DecoderConfig seed_oss_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.attention_bias = config.flag("attention_bias", true);
  decoder.output_bias = config.flag("attention_out_bias", false);
  return decoder;
}

}  // namespace wick
