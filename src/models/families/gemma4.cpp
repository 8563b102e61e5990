// Gemma 3n and Gemma 4, which share more with each other than with those before.
#include <algorithm>

#include "base/error.h"
#include "base/normal_distribution.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/families/families.h"

namespace wick {
namespace {

// Windows by layer_types, or on all but every `period`-th layer. Rope 0 is that of full layers, rope 1 of windows.
void read_gemma_layers(const ConfigReader& config, DecoderConfig& decoder, int64_t period) {
  const std::vector<std::string> types = config.texts("layer_types");
  const int64_t window = config.integer("sliding_window", 512);
  if (!types.empty() && types.size() != decoder.kinds.size()) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: layer_types names ", types.size(), " layers, num_hidden_layers is ", decoder.layers));
  }
  if (window < 1) throw Error(ErrorCode::kBadFile, cat("config.json: sliding_window is ", window));
  for (size_t i = 0; i < decoder.kinds.size(); ++i) {
    const std::string_view usual = (static_cast<int64_t>(i) + 1) % period == 0 ? "full_attention" : "sliding_attention";
    const std::string_view type = types.empty() ? usual : std::string_view(types[i]);
    if (type != "full_attention" && type != "sliding_attention") {
      throw Error(ErrorCode::kUnsupported, cat("config.json: layer_types has ", in_quotes(type)));
    }
    decoder.kinds[i].window = type == "full_attention" ? 0 : window;
    decoder.kinds[i].rope = type == "full_attention" ? 0 : 1;
  }
}

// The last layers use the keys and values of the last layer of their kind before them.
void share_keys_and_values(const ConfigReader& config, DecoderConfig& decoder, int64_t fallback) {
  const int64_t first = decoder.layers - count_setting(config, "num_kv_shared_layers", fallback);
  if (first <= 0) return;
  for (size_t i = static_cast<size_t>(first); i < decoder.kinds.size(); ++i) {
    LayerKind& kind = decoder.kinds[i];
    for (int from = 0; from < static_cast<int>(first); ++from) {
      if (decoder.kinds[static_cast<size_t>(from)].rope == kind.rope) kind.kv_from = from;
    }
    if (kind.kv_from >= 0) continue;
    throw Error(ErrorCode::kBadFile,
                cat("config.json: with num_kv_shared_layers, layer ", i, " finds no layer of its kind before ", first));
  }
}

// Gemma 3 with norms as they are stored, scores that are not scaled, a norm of values and layers' own embeddings.
DecoderConfig newer_gemma_config(const ConfigReader& config, int64_t period, double cap) {
  DecoderConfig decoder = gemma_config(config);
  decoder.norm_offset = 0;
  decoder.names.attn_post_norm = "post_attention_layernorm";
  decoder.names.mlp_norm = "pre_feedforward_layernorm";
  decoder.names.mlp_post_norm = "post_feedforward_layernorm";
  decoder.attention_scale = 1.f;
  decoder.qk_norm = QkNorm::kPerHead;
  decoder.value_norm = true;
  decoder.logit_soft_cap = static_cast<float>(config.number("final_logit_softcapping", cap));
  decoder.layer_input = count_setting(config, "hidden_size_per_layer_input", 256);
  decoder.layer_vocabulary = count_setting(config, "vocab_size_per_layer_input", 262144);
  read_gemma_layers(config, decoder, period);
  return decoder;
}

void read_sparsity(const ConfigReader& config, DecoderConfig& decoder) {
  std::vector<double> pattern(decoder.kinds.size(), 0);
  if (const Json* given = config.find("activation_sparsity_pattern")) {
    pattern = given->to<std::vector<double>>();
    if (pattern.size() != decoder.kinds.size()) {
      throw Error(ErrorCode::kBadFile, cat("config.json: activation_sparsity_pattern names ", pattern.size(),
                                           " layers, num_hidden_layers is ", decoder.layers));
    }
  } else if (pattern.size() > 10) {
    std::fill_n(pattern.begin(), 10, 0.95);
  }
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!(pattern[i] >= 0 && pattern[i] < 1)) {
      throw Error(ErrorCode::kBadFile,
                  cat("config.json: activation_sparsity_pattern has ", pattern[i], ", expected 0 to below 1"));
    }
    if (pattern[i] > 0) decoder.kinds[i].cut = normal_deviations(pattern[i]);
  }
}

// Full layers of Gemma 4 have heads of another size, and may have fewer key heads.
void read_layer_heads(const ConfigReader& config, DecoderConfig& decoder) {
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  const Json* given = config.find("per_layer_config");
  const int64_t head_dim = count_setting(config, "global_head_dim", 512);
  const int64_t kv_heads = count_setting(config, "num_global_key_value_heads", 0);
  for (LayerKind& kind : decoder.kinds) {
    if (kind.rope == 1) continue;
    kind.keys_are_values = keys_are_values;
    if (given) continue;
    kind.head_dim = head_dim;
    if (keys_are_values) kind.kv_heads = kv_heads;
  }
  if (!given) return;
  for (const auto& [layer, settings] : given->as_object()) {
    size_t index = 0;
    while (index < decoder.kinds.size() && cat(index) != layer) ++index;
    if (index == decoder.kinds.size()) {
      throw Error(ErrorCode::kBadFile, cat(settings.place(), " is of a layer that is not there"));
    }
    for (const auto& [name, value] : settings.as_object()) {
      if (name != "head_dim" && name != "num_key_value_heads") {
        throw Error(ErrorCode::kUnsupported,
                    cat(value.place(), " changes what one layer computes in a way that Wick does not know"));
      }
      (name == "head_dim" ? decoder.kinds[index].head_dim : decoder.kinds[index].kv_heads) = value.as_int();
    }
  }
}

int64_t rope_head_dim(const DecoderConfig& decoder, int rope) {
  std::optional<int64_t> dim;
  for (const LayerKind& kind : decoder.kinds) {
    if (kind.rope != rope) continue;
    const int64_t own = head_dim_of(decoder, kind);
    if (dim && *dim != own) {
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: layers of one kind have heads of ", *dim, " and of ", own, " components"));
    }
    dim = own;
  }
  return dim.value_or(decoder.head_dim);
}

}  // namespace

DecoderConfig gemma3n_config(const ConfigReader& config) {
  DecoderConfig decoder = newer_gemma_config(config, 5, 30);
  share_keys_and_values(config, decoder, 15);
  read_sparsity(config, decoder);
  decoder.ropes = gemma_ropes(config, decoder);
  decoder.laurel_rank = count_setting(config, "laurel_rank", 64);
  AltUpConfig altup;
  altup.copies = count_setting(config, "altup_num_inputs", 4);
  altup.active = count_setting(config, "altup_active_idx", 0);
  altup.scale = config.flag("altup_correct_scale", true);
  decoder.altup = altup;
  return decoder;
}

DecoderConfig gemma4_config(const ConfigReader& config) {
  DecoderConfig decoder = newer_gemma_config(config, 6, 0);
  if (!decoder.kinds.empty()) decoder.kinds.back().window = decoder.kinds.back().rope = 0;  // the last one is full
  if (config.text("use_bidirectional_attention", "") == "all") {  // "vision" is of images only
    throw Error(ErrorCode::kUnsupported, "config.json: use_bidirectional_attention is 'all'; Wick reads to the left");
  }
  read_layer_heads(config, decoder);
  share_keys_and_values(config, decoder, 0);
  if (config.flag("use_double_wide_mlp", false)) {
    for (LayerKind& kind : decoder.kinds) kind.intermediate = kind.kv_from >= 0 ? 2 * decoder.intermediate : 0;
  }
  const int64_t full = rope_head_dim(decoder, 0), local = rope_head_dim(decoder, 1);
  decoder.ropes = {read_rope(config, full, decoder.max_positions, 1e6, "full_attention"),
                   read_rope(config, local, decoder.max_positions, 1e4, "sliding_attention")};
  if (!config.has("rope_parameters")) {
    decoder.ropes[0].kind = RopeKind::kProportional;
    decoder.ropes[0].turned_pairs = full / 8;
  }
  decoder.layer_scale = true;
  if (!config.flag("enable_moe_block", false)) return decoder;
  MoeConfig moe;
  moe.beside_mlp = true;
  moe.routing.experts = count_setting(config, "num_experts", 0);
  moe.routing.chosen = count_setting(config, "top_k_experts", 0);
  moe.intermediate = count_setting(config, "moe_intermediate_size", 0);
  decoder.moe = moe;
  decoder.names.router = "router.proj";
  decoder.names.experts = "experts.";
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  return decoder;
}

}  // namespace wick
