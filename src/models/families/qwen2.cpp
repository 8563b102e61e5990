#include "models/families/families.h"

namespace wick {

DecoderConfig qwen2_config(const ConfigReader& config) {  // Llama, with biases on q, k and v
  DecoderConfig decoder = llama_config(config);
  decoder.attention_bias = config.flag("attention_bias", true);
  decoder.output_bias = false;
  if (config.flag("use_sliding_window", false)) {
    read_windows(config, decoder);
    // Without layer_types the first layers see everything.
    const int64_t first = config.has("layer_types") ? 0 : config.integer("max_window_layers", 28);
    for (int64_t i = 0; i < first && i < decoder.layers; ++i) decoder.kinds[static_cast<size_t>(i)].window = 0;
  }
  return decoder;
}

}  // namespace wick
