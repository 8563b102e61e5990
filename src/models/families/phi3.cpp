#include "models/families/families.h"

namespace wick {

// Llama; q, k, v and gate, up are fused in its files, which the weights take apart.
DecoderConfig phi3_config(const ConfigReader& config) {
  DecoderConfig decoder = mistral_config(config);
  decoder.attention_bias = decoder.output_bias = false;
  return decoder;
}

}  // namespace wick
