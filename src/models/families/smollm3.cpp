#include "models/families/families.h"

namespace wick {

// Llama, with layers that are not rotated: every fourth, or where no_rope_layers has a zero.
DecoderConfig smollm3_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  const std::vector<int64_t> rotated = config.integers("no_rope_layers");
  const int64_t interval = config.integer("no_rope_layer_interval", 4);
  for (int64_t i = 0; i < static_cast<int64_t>(decoder.kinds.size()); ++i) {
    const bool listed = i < static_cast<int64_t>(rotated.size());
    const bool rotates = listed ? rotated[static_cast<size_t>(i)] != 0 : interval <= 0 || (i + 1) % interval != 0;
    decoder.kinds[static_cast<size_t>(i)].rope = rotates ? 0 : -1;
  }
  if (config.flag("use_sliding_window", false)) read_windows(config, decoder);
  return decoder;
}

}  // namespace wick
