#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"

namespace wick {

// GPT-2, with windows on every second layer and scores that are not scaled.
DecoderConfig gpt_neo_config(const ConfigReader& config) {
  DecoderConfig decoder = gpt2_config(config);
  DecoderNames& names = decoder.names;
  names.q = "attn.attention.q_proj";
  names.k = "attn.attention.k_proj";
  names.v = "attn.attention.v_proj";
  names.o = "attn.attention.out_proj";
  decoder.transposed = false;
  decoder.attention_bias = false;
  decoder.attention_scale = 1;
  const int64_t window = config.integer("window_size", 256);
  std::vector<std::string> types = config.texts("attention_layers");
  if (const Json* groups = config.find("attention_types"); groups && types.empty()) {
    for (const Json& group : groups->as_array()) {  // a list of kinds and how often it comes
      const auto& pair = group.as_array();
      if (pair.size() != 2) throw Error(ErrorCode::kBadFile, cat(group.place(), " is not a list and a number"));
      for (int64_t i = 0; i < pair[1].as_int() && types.size() < decoder.kinds.size(); ++i) {
        for (const std::string& type : pair[0].to<std::vector<std::string>>()) types.push_back(type);
      }
    }
  }
  if (types.size() != decoder.kinds.size()) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: attention_layers names ", types.size(), " layers, there are ", decoder.layers));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != "global" && types[i] != "local") {
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: attention_layers asks for '", types[i], "'; known are global and local"));
    }
    decoder.kinds[i].window = types[i] == "local" ? window : 0;
  }
  return decoder;
}

// LayerNorm, attention and MLP side by side with a norm each, a quarter of each head rotated.
DecoderConfig gpt_neox_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  DecoderNames& names = decoder.names;
  names.embed = "gpt_neox.embed_in";
  names.layers = "gpt_neox.layers.";
  names.final_norm = "gpt_neox.final_layer_norm";
  names.head = "embed_out";
  names.q = "attention.q_proj";
  names.k = "attention.k_proj";
  names.v = "attention.v_proj";
  names.o = "attention.dense";
  names.up = "mlp.dense_h_to_4h";
  names.down = "mlp.dense_4h_to_h";
  decoder.parallel = config.flag("use_parallel_residual", true);
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "gelu"));
  decoder.attention_bias = decoder.output_bias = config.flag("attention_bias", true);
  decoder.mlp_bias = true;
  rotate_part(config, decoder, 0.25);
  return decoder;
}

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
