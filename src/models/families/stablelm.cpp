#include "models/families/families.h"

#include "base/error.h"

namespace wick {

// Llama with LayerNorm and a quarter of each head rotated; some run attention and MLP side by side.
DecoderConfig stablelm_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  decoder.attention_bias = config.flag("use_qkv_bias", false);
  decoder.output_bias = false;
  decoder.parallel = config.flag("use_parallel_residual", false);
  if (decoder.parallel) decoder.names.mlp_norm.clear();
  rotate_part(config, decoder, 0.25);
  if (config.flag("qk_layernorm", false)) {
    throw Error(ErrorCode::kUnsupported,
                "StableLM with qk_layernorm (a norm of its own for each head) is not supported");
  }
  return decoder;
}

}  // namespace wick
