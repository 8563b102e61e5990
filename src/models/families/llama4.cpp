#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/families/families.h"

namespace wick {
namespace {

// Layers with rope see their own chunk of the text, those without see everything with queries that grow.
void read_chunks(const ConfigReader& config, DecoderConfig& decoder) {
  std::vector<int64_t> rotates = config.integers("no_rope_layers");
  const int64_t period = count_setting(config, "no_rope_layer_interval", 4);
  const size_t count = decoder.kinds.size();
  for (size_t i = 0; rotates.size() == i && i < count && period > 0; ++i) {
    rotates.push_back((static_cast<int64_t>(i) + 1) % period != 0);
  }
  const std::vector<std::string> types = config.texts("layer_types");
  if (rotates.size() != count || (!types.empty() && types.size() != count)) {
    throw Error(ErrorCode::kBadFile, cat("config.json: no_rope_layers and layer_types name ", rotates.size(), " and ",
                                         types.size(), " layers, num_hidden_layers is ", decoder.layers));
  }
  const int64_t chunk = config.integer("attention_chunk_size", 8192);
  if (chunk < 1) throw Error(ErrorCode::kBadFile, cat("config.json: attention_chunk_size is ", chunk));
  for (size_t i = 0; i < count; ++i) {
    const std::string_view usual = rotates[i] != 0 ? "chunked_attention" : "full_attention";
    const std::string_view type = types.empty() ? usual : std::string_view(types[i]);
    if (type != "full_attention" && type != "chunked_attention") {
      throw Error(ErrorCode::kUnsupported, cat("config.json: layer_types has ", in_quotes(type)));
    }
    LayerKind& kind = decoder.kinds[i];
    kind.rope = rotates[i] != 0 ? 0 : -1;
    kind.qk_norm = rotates[i] != 0;
    kind.chunk = type == "chunked_attention" ? chunk : 0;
  }
}

void read_temperature(const ConfigReader& config, DecoderConfig& decoder) {
  const Json* tuned = config.find("attn_temperature_tuning");  // a number in older files
  QueryGrowth growth;
  growth.factor = config.number("attn_scale", 0.1);
  growth.period = config.number("floor_scale", 8192);
  growth.offset = 1;
  if (tuned && (tuned->is_bool() ? !tuned->as_bool() : tuned->as_int() == 0)) return;
  decoder.query_growth = growth;
  for (LayerKind& kind : decoder.kinds) kind.query_growth = kind.rope < 0;
}

void read_llama4_experts(const ConfigReader& config, DecoderConfig& decoder) {
  MoeConfig moe;
  moe.routing.experts = count_setting(config, "num_local_experts", 16);
  moe.routing.chosen = count_setting(config, "num_experts_per_tok", 1);
  moe.routing.sigmoid = moe.routing.scales_input = true;
  moe.routing.renormalize = false;
  moe.intermediate = moe.shared_intermediate = count_setting(config, "intermediate_size", 8192);
  decoder.moe = moe;
  decoder.intermediate = count_setting(config, "intermediate_size_mlp", 16384);
  const int64_t step = count_setting(config, "interleave_moe_layer_step", 1), layers = std::ssize(decoder.kinds);
  if (!config.has("moe_layers")) {
    for (int64_t i = step - 1; step > 0 && i < layers; i += step) decoder.kinds[static_cast<size_t>(i)].sparse = true;
    return;
  }
  for (const int64_t layer : config.integers("moe_layers")) {
    if (layer < 0 || layer >= layers) throw Error(ErrorCode::kBadFile, cat("config.json: moe_layers has ", layer));
    decoder.kinds[static_cast<size_t>(layer)].sparse = true;
  }
}

}  // namespace

DecoderConfig llama4_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions, 500000)};
  decoder.ropes.front().interleaved = true;
  read_chunks(config, decoder);
  read_temperature(config, decoder);
  read_llama4_experts(config, decoder);
  if (config.flag("use_qk_norm", true)) {
    decoder.qk_norm = QkNorm::kPerHead;
    decoder.qk_norm_after_rope = true;
    decoder.qk_norm_weights = false;
  }
  DecoderNames& names = decoder.names;
  names.gate = "feed_forward.gate_proj";
  names.up = "feed_forward.up_proj";
  names.down = "feed_forward.down_proj";
  names.router = "feed_forward.router";
  names.experts = "feed_forward.experts.";
  names.shared = "feed_forward.shared_expert.";
  return decoder;
}

}  // namespace wick
