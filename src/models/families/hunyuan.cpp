#include "models/families/families.h"

#include <cmath>

namespace wick {

// Llama, with norms on heads behind their rotation.
DecoderConfig hunyuan_v1_dense_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.qk_norm = QkNorm::kPerHead;
  decoder.qk_norm_after_rope = true;
  decoder.names.q_norm = "self_attn.query_layernorm";
  decoder.names.k_norm = "self_attn.key_layernorm";
  config.has("use_qk_norm");  // they are there in any case
  const Json* block = config.find("rope_parameters");
  if (!block) block = config.find("rope_scaling");
  RopeConfig& rope = decoder.ropes.front();
  const Json* alpha = block ? config.member(*block, "alpha") : nullptr;
  if (alpha && rope.kind == RopeKind::kDynamic && rope.dim > 2) {
    // Its dynamic scaling is the same at every length.
    const auto dim = static_cast<double>(rope.dim);
    rope.theta *= std::pow(alpha->as_number(), dim / (dim - 2));
    rope.kind = RopeKind::kDefault;
  }
  return decoder;
}

}  // namespace wick
