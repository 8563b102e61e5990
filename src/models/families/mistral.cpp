#include "models/families/families.h"

namespace wick {

DecoderConfig mistral_config(const ConfigReader& config) {  // Llama, with a sliding window
  DecoderConfig decoder = llama_config(config);
  read_windows(config, decoder);
  return decoder;
}

// Mistral, with queries that grow with the position.
DecoderConfig ministral3_config(const ConfigReader& config) {
  DecoderConfig decoder = mistral_config(config);
  const Json* block = config.find("rope_parameters");
  if (!block) block = config.find("rope_scaling");
  const Json* factor = block ? config.member(*block, "llama_4_scaling_beta") : nullptr;
  if (!factor) return decoder;
  QueryGrowth growth;
  growth.factor = factor->as_number();
  growth.period = static_cast<double>(decoder.ropes.front().original_positions);
  decoder.query_growth = growth;
  for (LayerKind& kind : decoder.kinds) kind.query_growth = true;
  return decoder;
}

DecoderConfig mixtral_config(const ConfigReader& config) {  // Mistral, with experts on every layer
  DecoderConfig decoder = mistral_config(config);
  decoder.names.router = "block_sparse_moe.gate";
  decoder.moe = read_experts(config, decoder, true);
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  return decoder;
}

}  // namespace wick
