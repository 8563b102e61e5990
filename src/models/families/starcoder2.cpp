#include "models/families/families.h"

namespace wick {

// LayerNorm, biases everywhere and a plain MLP.
DecoderConfig starcoder2_config(const ConfigReader& config) {
  DecoderConfig decoder = mistral_config(config);
  use_layer_norm(config, decoder);
  decoder.gated = false;
  decoder.names.up = "mlp.c_fc";
  decoder.names.down = "mlp.c_proj";
  decoder.activation = activation_named(config.text("hidden_act", "gelu_pytorch_tanh"));
  decoder.attention_bias = decoder.output_bias = decoder.mlp_bias = config.flag("use_bias", true);
  decoder.tied = config.flag("tie_word_embeddings", true);
  return decoder;
}

}  // namespace wick
