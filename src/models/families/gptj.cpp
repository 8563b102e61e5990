#include "models/families/families.h"

namespace wick {

// LayerNorm once per layer, attention and MLP side by side, the first components of heads rotated in pairs. CodeGen is
// the same with q, k and v fused, which the weights take apart.
DecoderConfig gptj_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  DecoderNames& names = decoder.names;
  names.embed = "transformer.wte";
  names.layers = "transformer.h.";
  names.final_norm = "transformer.ln_f";
  names.attn_norm = "ln_1";
  names.mlp_norm.clear();
  names.q = "attn.q_proj";
  names.k = "attn.k_proj";
  names.v = "attn.v_proj";
  names.o = "attn.out_proj";
  names.up = "mlp.fc_in";
  names.down = "mlp.fc_out";
  decoder.parallel = true;
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "gelu_new"));
  decoder.mlp_bias = decoder.head_bias = true;
  for (RopeConfig& rope : decoder.ropes) {
    rope.dim = config.integer("rotary_dim", 64);
    rope.interleaved = true;
  }
  return decoder;
}

}  // namespace wick
