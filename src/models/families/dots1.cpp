#include "models/families/families.h"

namespace wick {

// Qwen3, with the experts of DeepSeek V3 and windows where layer_types says so.
DecoderConfig dots1_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.qk_norm = QkNorm::kPerHead;
  decoder.names.shared = "mlp.shared_experts.";
  decoder.moe = read_sigmoid_experts(config, decoder);
  decoder.moe->routing.renormalize = config.flag("norm_topk_prob", false);
  read_shared_experts(config, *decoder.moe);
  read_dense_beginning(config, decoder, "first_k_dense_replace");
  if (config.has("layer_types")) read_windows(config, decoder);
  return decoder;
}

}  // namespace wick
