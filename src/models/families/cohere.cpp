#include "models/families/families.h"

#include "base/error.h"

namespace wick {

// LayerNorm without bias once per layer, attention and MLP side by side, neighbouring pairs rotated, scaled logits.
// The second generation has windows, and rotates only where it has one.
DecoderConfig cohere_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  decoder.norm_bias = false;
  decoder.parallel = true;
  decoder.names.mlp_norm.clear();
  for (RopeConfig& rope : decoder.ropes) rope.interleaved = true;
  decoder.logit_scale = static_cast<float>(config.number("logit_scale", 0.0625));
  decoder.tied = config.flag("tie_word_embeddings", true);
  if (config.flag("use_qk_norm", false)) {
    throw Error(ErrorCode::kUnsupported, "Cohere with use_qk_norm (a norm of its own for each head) is not supported");
  }
  if (config.text("model_type", "") == "cohere2") {
    read_alternating_windows(config, decoder, config.integer("sliding_window_pattern", 4));
    for (LayerKind& kind : decoder.kinds) kind.rope = kind.window > 0 ? 0 : -1;
  }
  return decoder;
}

}  // namespace wick
