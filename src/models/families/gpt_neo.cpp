#include "models/families/families.h"

#include "base/error.h"
#include "base/text.h"

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

}  // namespace wick
