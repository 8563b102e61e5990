#include "models/families/families.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {

// LayerNorm, biases and ReLU; learned positions, whose table begins with two rows for others.
DecoderConfig opt_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  if (!config.flag("do_layer_norm_before", true)) {
    throw Error(ErrorCode::kUnsupported,
                "OPT with do_layer_norm_before = false (norms behind the sum) is not supported");
  }
  if (config.integer("word_embed_proj_dim", decoder.hidden) != decoder.hidden) {
    throw Error(ErrorCode::kUnsupported, cat("OPT with a word_embed_proj_dim other than its hidden size of ",
                                             decoder.hidden, " is not supported"));
  }
  use_layer_norm(config, decoder);
  decoder.norm_weights = config.flag("layer_norm_elementwise_affine", true);
  DecoderNames& names = decoder.names;
  names.embed = "model.decoder.embed_tokens";
  names.positions = "model.decoder.embed_positions";
  names.layers = "model.decoder.layers.";
  names.final_norm = "model.decoder.final_layer_norm";
  if (config.flag("_remove_final_layer_norm", false)) names.final_norm.clear();
  names.attn_norm = "self_attn_layer_norm";
  names.o = "self_attn.out_proj";
  names.mlp_norm = "final_layer_norm";
  names.up = "fc1";
  names.down = "fc2";
  decoder.position_offset = 2;
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "relu"));
  decoder.attention_bias = decoder.output_bias = decoder.mlp_bias = config.flag("enable_bias", true);
  decoder.tied = config.flag("tie_word_embeddings", true);
  rotate_nothing(decoder);
  return decoder;
}

}  // namespace wick
