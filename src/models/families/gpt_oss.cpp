#include "models/families/families.h"

namespace wick {

// Experts with biases and a clamped activation, attention sinks, a window on every other layer, yarn by default.
DecoderConfig gpt_oss_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.head_dim = config.integer("head_dim", 64);
  decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions, 150000)};
  decoder.attention_bias = decoder.output_bias = config.flag("attention_bias", true);
  decoder.sinks = true;
  decoder.names.router = "mlp.router";
  decoder.moe = read_experts(config, decoder, true);
  decoder.moe->expert_bias = true;
  decoder.activation = Activation::kClampedSwiglu;
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  read_alternating_windows(config, decoder, 2);
  return decoder;
}

}  // namespace wick
