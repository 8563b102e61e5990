#include "models/families/families.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

// intermediate_size is one number, or one for each layer.
void read_mlp_sizes(const ConfigReader& config, DecoderConfig& decoder) {
  const Json* given = config.find("intermediate_size");
  if (!given || !given->is_array()) {
    decoder.intermediate = config.integer("intermediate_size", 4 * decoder.hidden);
    return;
  }
  const auto sizes = given->to<std::vector<int64_t>>();
  if (sizes.empty() || sizes.size() != decoder.kinds.size()) {
    throw Error(ErrorCode::kBadFile,
                cat(given->place(), " names ", sizes.size(), " layers, num_hidden_layers is ", decoder.layers));
  }
  decoder.intermediate = sizes.front();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) throw Error(ErrorCode::kBadFile, cat(given->place(), " has ", sizes[i]));
    decoder.kinds[i].intermediate = sizes[i];
  }
}

}  // namespace

DecoderConfig llama_config(const ConfigReader& config) {
  DecoderConfig decoder;
  decoder.family = config.text("model_type", "llama");
  decoder.layers = config.integer("num_hidden_layers");
  decoder.hidden = config.integer("hidden_size");
  decoder.heads = config.integer("num_attention_heads");
  decoder.kv_heads = config.integer("num_key_value_heads", decoder.heads);
  decoder.head_dim = config.integer("head_dim", decoder.heads > 0 ? decoder.hidden / decoder.heads : 0);
  decoder.vocabulary = config.integer("vocab_size");
  decoder.max_positions = config.integer("max_position_embeddings", 2048);
  decoder.norm_eps = static_cast<float>(config.number("rms_norm_eps", 1e-6));
  decoder.activation = activation_named(config.text("hidden_act", "silu"));
  decoder.attention_bias = decoder.output_bias = config.flag("attention_bias", false);
  decoder.mlp_bias = config.flag("mlp_bias", false);
  decoder.tied = config.flag("tie_word_embeddings", false);
  decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions)};
  if (decoder.layers > 0 && decoder.layers <= 4096) decoder.kinds.resize(static_cast<size_t>(decoder.layers));
  read_mlp_sizes(config, decoder);
  return decoder;
}

DecoderConfig diffllama_config(const ConfigReader& config) {  // Llama, with differential attention
  DecoderConfig decoder = llama_config(config);
  decoder.differential = true;
  return decoder;
}

int64_t count_setting(const ConfigReader& config, std::string_view name, int64_t fallback) {
  const int64_t count = config.integer(name, fallback);
  if (count >= 0 && count <= kMostOfAnything) return count;
  throw Error(ErrorCode::kBadFile, cat("config.json: ", name, " is ", count, ", expected 0 to ", kMostOfAnything));
}

int64_t checked_setting(std::string_view name, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return value;
  throw Error(ErrorCode::kBadFile, cat("config.json: ", name, " is ", value, ", expected 1 to ", most));
}

void read_windows(const ConfigReader& config, DecoderConfig& decoder) {
  const int64_t window = config.integer("sliding_window", 0);
  const std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && types.size() != decoder.kinds.size()) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: layer_types names ", types.size(), " layers, num_hidden_layers is ", decoder.layers));
  }
  if (!config.flag("use_sliding_window", true)) return;
  for (size_t i = 0; i < decoder.kinds.size(); ++i) {
    const bool sliding = types.empty() || types[i] == "sliding_attention";
    decoder.kinds[i].window = sliding ? window : 0;
  }
  // A rope_parameters block may describe layers with a window by themselves.
  const Json* block = config.find("rope_parameters");
  if (!block || !block->is_object() || !block->find("sliding_attention") || decoder.ropes.size() != 1) return;
  decoder.ropes.push_back(read_rope(config, decoder.head_dim, decoder.max_positions, 10000, "sliding_attention"));
  for (LayerKind& kind : decoder.kinds) {
    if (kind.window > 0 && kind.rope == 0) kind.rope = 1;
  }
}

void read_alternating_windows(const ConfigReader& config, DecoderConfig& decoder, int64_t period) {
  if (config.has("layer_types")) return read_windows(config, decoder);
  const int64_t window = config.integer("sliding_window", 0);
  for (size_t i = 0; i < decoder.kinds.size(); ++i) {
    decoder.kinds[i].window = period > 0 && (static_cast<int64_t>(i) + 1) % period == 0 ? 0 : window;
  }
}

void rotate_nothing(DecoderConfig& decoder) {
  decoder.ropes.clear();
  for (LayerKind& kind : decoder.kinds) kind.rope = -1;
}

void rotate_part(const ConfigReader& config, DecoderConfig& decoder, double share) {
  const Json* block = config.find("rope_parameters");
  if (!block) block = config.find("rope_scaling");
  if (config.has("partial_rotary_factor") || (block && block->find("partial_rotary_factor"))) return;
  const auto dim = static_cast<int64_t>(static_cast<double>(decoder.head_dim) * share);
  for (RopeConfig& rope : decoder.ropes) rope.dim = dim;
}

std::vector<float> alibi_slopes(int64_t heads) {
  std::vector<float> slopes;
  if (heads > kMostHeads) return slopes;  // more than any model may have
  int64_t whole = 1;
  while (whole * 2 <= heads) whole *= 2;
  for (int64_t i = 0; i < heads; ++i) {
    const double step = i < whole ? -8.0 / static_cast<double>(whole) : -4.0 / static_cast<double>(whole);
    const auto power = static_cast<double>(i < whole ? i + 1 : 2 * (i - whole) + 1);
    slopes.push_back(static_cast<float>(std::exp2(step * power)));
  }
  return slopes;
}

void read_shared_experts(const ConfigReader& config, MoeConfig& moe) {
  moe.shared_intermediate =
      count_setting(config, "moe_intermediate_size", moe.intermediate) * count_setting(config, "n_shared_experts", 0);
}

void read_dense_beginning(const ConfigReader& config, DecoderConfig& decoder, std::string_view setting) {
  const int64_t dense = config.integer(setting, 0);
  for (int64_t i = 0; i < static_cast<int64_t>(decoder.kinds.size()); ++i) {
    decoder.kinds[static_cast<size_t>(i)].sparse = i >= dense;
  }
}

void read_mtp(const ConfigReader& config, DecoderConfig& decoder) {
  if (config.integer("num_nextn_predict_layers", 0) < 1 || decoder.kinds.empty()) return;
  MtpConfig mtp;
  mtp.layers = decoder.names.layers;
  mtp.index = decoder.layers;
  mtp.kind = decoder.kinds.back();
  const std::string layer = cat(mtp.layers, mtp.index, ".");
  mtp.embed_norm = layer + "enorm";
  mtp.hidden_norm = layer + "hnorm";
  mtp.join = layer + "eh_proj";
  mtp.final_norm = layer + "shared_head.norm";
  decoder.mtp = mtp;
}

MoeConfig read_sigmoid_experts(const ConfigReader& config, const DecoderConfig& decoder) {
  MoeConfig moe = read_experts(config, decoder, true);
  moe.routing.sigmoid = true;
  moe.routing.scale = static_cast<float>(config.number("routed_scaling_factor", 1));
  moe.routing.groups = config.integer("n_group", 1);
  moe.routing.chosen_groups = config.integer("topk_group", 1);
  moe.selection_bias = true;
  const std::string scores = config.text("scoring_func", "sigmoid");
  if (scores != "sigmoid") {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: scoring_func is '", scores, "'; Wick knows 'sigmoid' of a '", decoder.family, "'"));
  }
  return moe;
}

MoeConfig read_experts(const ConfigReader& config, const DecoderConfig& decoder, bool renormalize) {
  MoeConfig moe;
  moe.routing.experts = config.integer("num_local_experts");
  moe.routing.chosen = config.integer("num_experts_per_tok", 2);
  moe.routing.renormalize = config.flag("norm_topk_prob", renormalize);
  moe.intermediate = config.integer("moe_intermediate_size", decoder.intermediate);
  return moe;
}

void read_sparse_layers(const ConfigReader& config, DecoderConfig& decoder) {
  const std::vector<int64_t> dense = config.integers("mlp_only_layers");
  const int64_t step = config.integer("decoder_sparse_step", 1);
  for (int64_t i = 0; i < static_cast<int64_t>(decoder.kinds.size()); ++i) {
    bool sparse = step > 0 && (i + 1) % step == 0;
    for (const int64_t layer : dense) sparse &= layer != i;
    decoder.kinds[static_cast<size_t>(i)].sparse = sparse;
  }
}

void use_layer_norm(const ConfigReader& config, DecoderConfig& decoder) {
  decoder.norm = NormKind::kLayer;
  decoder.norm_eps = static_cast<float>(config.number("layer_norm_eps", 1e-5));
}

}  // namespace wick
