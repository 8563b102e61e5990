#include "models/families/families.h"

namespace wick {

DecoderConfig qwen2_moe_config(const ConfigReader& config) {  // Qwen2, with experts and a gated shared one
  DecoderConfig decoder = qwen2_config(config);
  decoder.moe = read_experts(config, decoder, false);
  decoder.moe->shared_intermediate = config.integer("shared_expert_intermediate_size", 0);
  decoder.moe->shared_gate = true;
  read_sparse_layers(config, decoder);
  return decoder;
}

}  // namespace wick
