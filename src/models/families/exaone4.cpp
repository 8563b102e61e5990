#include "models/families/families.h"

namespace wick {

// OLMo 2, with norms on each head; where there are windows, only layers with one are rotated.
DecoderConfig exaone4_config(const ConfigReader& config) {
  DecoderConfig decoder = olmo2_config(config);
  decoder.qk_norm = QkNorm::kPerHead;
  if (config.integer("sliding_window", 0) == 0) return decoder;
  const Json* pattern = config.find("sliding_window_pattern");
  read_alternating_windows(config, decoder, pattern && pattern->is_int() ? pattern->as_int() : 4);
  for (LayerKind& kind : decoder.kinds) {
    if (kind.window == 0) kind.rope = -1;
  }
  return decoder;
}

}  // namespace wick
