#include "models/families/families.h"

namespace wick {

// GLM, with norms behind attention and MLP, too.
DecoderConfig glm4_config(const ConfigReader& config) {
  DecoderConfig decoder = glm_config(config);
  decoder.names.attn_post_norm = "post_self_attn_layernorm";
  decoder.names.mlp_post_norm = "post_mlp_layernorm";
  return decoder;
}

// Llama, with half of each head rotated, perhaps norms on heads, and the experts of DeepSeek V3.
DecoderConfig glm4_moe_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.output_bias = false;
  rotate_part(config, decoder, 0.5);
  if (config.flag("use_qk_norm", false)) decoder.qk_norm = QkNorm::kPerHead;
  decoder.names.shared = "mlp.shared_experts.";
  decoder.moe = read_sigmoid_experts(config, decoder);
  read_shared_experts(config, *decoder.moe);
  read_dense_beginning(config, decoder, "first_k_dense_replace");
  read_mtp(config, decoder);
  return decoder;
}

}  // namespace wick
