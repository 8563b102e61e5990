#include "models/families/families.h"

#include "base/error.h"

namespace wick {

// Llama, with constants on embeddings, scores, residuals and logits.
DecoderConfig granite_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.embedding_scale = static_cast<float>(config.number("embedding_multiplier", 1));
  decoder.residual_scale = static_cast<float>(config.number("residual_multiplier", 1));
  decoder.attention_scale = static_cast<float>(config.number("attention_multiplier", 1));
  const double divisor = config.number("logits_scaling", 1);
  if (!(divisor != 0)) throw Error(ErrorCode::kBadFile, "config.json: logits_scaling is 0");
  decoder.logit_scale = static_cast<float>(1 / divisor);
  return decoder;
}

DecoderConfig granitemoe_config(const ConfigReader& config) {  // Granite, with experts on every layer
  DecoderConfig decoder = granite_config(config);
  decoder.moe = read_experts(config, decoder, true);
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  return decoder;
}

}  // namespace wick
