#include "models/families/families.h"

namespace wick {

// Gemma 2 without caps, with norms on q and k, and one rope for windows and one for full layers.
DecoderConfig gemma3_config(const ConfigReader& config) {
  DecoderConfig decoder = gemma2_config(config);
  decoder.qk_norm = QkNorm::kPerHead;
  read_alternating_windows(config, decoder, config.integer("sliding_window_pattern", 6));
  const RopeConfig full = read_rope(config, decoder.head_dim, decoder.max_positions, 1e6, "full_attention");
  RopeConfig local = read_rope(config, decoder.head_dim, decoder.max_positions, 1e4, "sliding_attention");
  if (!config.has("rope_parameters")) {
    local = RopeConfig{};
    local.dim = decoder.head_dim;
    local.max_positions = decoder.max_positions;
    local.theta = config.number("rope_local_base_freq", 10000);
  }
  decoder.ropes = {full, local};
  for (LayerKind& kind : decoder.kinds) kind.rope = kind.window > 0 ? 1 : 0;
  return decoder;
}

}  // namespace wick
