#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"

namespace wick {

// Llama; q, k, v and gate, up are fused in its files, which the weights take apart.
DecoderConfig phi3_config(const ConfigReader& config) {
  DecoderConfig decoder = mistral_config(config);
  decoder.attention_bias = decoder.output_bias = false;
  return decoder;
}

// Mixtral, with LayerNorm, biases, and experts that are chosen one after the other.
DecoderConfig phimoe_config(const ConfigReader& config) {
  DecoderConfig decoder = mistral_config(config);
  decoder.norm = NormKind::kLayer;
  decoder.norm_eps = static_cast<float>(config.number("rms_norm_eps", 1e-5));
  decoder.head_bias = config.flag("lm_head_bias", false);
  decoder.names.router = "block_sparse_moe.gate";
  decoder.moe = read_experts(config, decoder, false);
  decoder.moe->routing.one_by_one = static_cast<float>(config.number("router_jitter_noise", 0.01));
  if (decoder.moe->routing.chosen != 2) {
    throw Error(ErrorCode::kUnsupported,
                cat("PhiMoE with ", decoder.moe->routing.chosen, " experts per token is not supported, only with 2"));
  }
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  const Json* scaling = config.find("rope_scaling");
  if (!scaling) return decoder;
  const Json *brief = config.member(*scaling, "short_mscale"), *lengthy = config.member(*scaling, "long_mscale");
  if (!brief || !lengthy) return decoder;
  if (brief->as_number() != lengthy->as_number()) {
    throw Error(ErrorCode::kUnsupported, cat(scaling->place(), ": short_mscale and long_mscale differ"));
  }
  decoder.ropes.front().attention_factor = brief->as_number();
  return decoder;
}

}  // namespace wick
