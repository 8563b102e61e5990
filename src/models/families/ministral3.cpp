#include "models/families/families.h"

namespace wick {

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

}  // namespace wick
