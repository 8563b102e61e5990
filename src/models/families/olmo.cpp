#include "models/families/families.h"

namespace wick {

// Llama, with LayerNorm that has no weights.
DecoderConfig olmo_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  decoder.norm_weights = false;
  decoder.clip_qkv = static_cast<float>(config.number("clip_qkv", 0));
  return decoder;
}

// Llama, with norms behind attention and MLP instead of before, and on whole rows of q and k. OLMo 3 adds windows.
DecoderConfig olmo2_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.names.attn_norm.clear();
  decoder.names.attn_post_norm = "post_attention_layernorm";
  decoder.names.mlp_norm.clear();
  decoder.names.mlp_post_norm = "post_feedforward_layernorm";
  decoder.qk_norm = QkNorm::kWholeRow;
  if (config.has("layer_types")) read_windows(config, decoder);
  return decoder;
}

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
