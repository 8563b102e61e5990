#include "models/families/families.h"

namespace wick {

// GPT-2 with matrices that are not transposed, and perhaps one key head for all.
DecoderConfig gpt_bigcode_config(const ConfigReader& config) {
  DecoderConfig decoder = gpt2_config(config);
  decoder.transposed = false;
  decoder.kv_heads = config.flag("multi_query", true) ? 1 : decoder.heads;
  decoder.activation = activation_named(config.text("hidden_act", "gelu_pytorch_tanh"));
  return decoder;
}

}  // namespace wick
