#include "models/families/families.h"

namespace wick {

DecoderConfig qwen3_moe_config(const ConfigReader& config) {  // Qwen3, with experts
  DecoderConfig decoder = qwen3_config(config);
  decoder.moe = read_experts(config, decoder, false);
  read_sparse_layers(config, decoder);
  return decoder;
}

}  // namespace wick
