#include "models/families/families.h"

namespace wick {

DecoderConfig qwen3_config(const ConfigReader& config) {  // Llama, with norms on each head of q and k
  DecoderConfig decoder = llama_config(config);
  decoder.qk_norm = QkNorm::kPerHead;
  if (!config.has("head_dim")) {
    decoder.head_dim = 128;
    decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions)};
  }
  if (config.flag("use_sliding_window", false)) read_windows(config, decoder);
  return decoder;
}

}  // namespace wick
