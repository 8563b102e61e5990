#include "models/families/families.h"

namespace wick {

// Llama, with norms on whole rows of q and k, and experts.
DecoderConfig olmoe_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.qk_norm = QkNorm::kWholeRow;
  decoder.clip_qkv = static_cast<float>(config.number("clip_qkv", 0));
  decoder.moe = read_experts(config, decoder, false);
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  return decoder;
}

}  // namespace wick
