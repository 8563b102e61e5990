#include "models/families/families.h"

namespace wick {

DecoderConfig mixtral_config(const ConfigReader& config) {  // Mistral, with experts on every layer
  DecoderConfig decoder = mistral_config(config);
  decoder.names.router = "block_sparse_moe.gate";
  decoder.moe = read_experts(config, decoder, true);
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  return decoder;
}

}  // namespace wick
