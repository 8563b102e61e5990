#include "models/encoders/both_ways.h"

#include <algorithm>

#include "models/config_check.h"
#include "models/read_count.h"
#include "models/registry.h"

namespace wick {
namespace {

// What a layer of an encoder cannot do; empty: nothing of it.
std::string_view not_of_encoders(const DecoderConfig& decoder) {
  const auto any_layer = [&](auto is_so) { return std::any_of(decoder.kinds.begin(), decoder.kinds.end(), is_so); };
  if (decoder.moe) return "experts";
  if (decoder.latent) return "latent attention";
  if (decoder.recurrent || decoder.recurrent_mlp) return "recurrent layers";
  if (decoder.attention_soft_cap != 0) return "capped scores";
  if (decoder.parallel || !decoder.gated || decoder.gated_attention || decoder.differential || decoder.sinks ||
      decoder.transposed || decoder.altup || decoder.layer_input > 0 || decoder.laurel_rank > 0 ||
      decoder.layer_scale || decoder.clip_qkv != 0 || decoder.value_norm || !decoder.norm_weights ||
      decoder.residual_scale != 1 || decoder.attention_out_scale != 1 || decoder.mlp_gate_scale != 1 ||
      decoder.mlp_out_scale != 1 || decoder.query_growth || decoder.qk_norm_after_rope ||
      decoder.qk_norm == QkNorm::kWholeRow || !decoder.names.attn_sub_norm.empty() ||
      !decoder.names.mlp_sub_norm.empty() || !decoder.names.positions.empty() || !decoder.alibi_slopes.empty()) {
    return "layers of another make";
  }
  if (any_layer([](const LayerKind& kind) {
        return !kind.attention || kind.recurrent || !kind.feed_forward || kind.chunk > 0 || kind.rope < 0 ||
               kind.kv_from >= 0 || kind.keys_are_values || kind.kv_heads > 0 || kind.head_dim > 0 ||
               kind.intermediate > 0 || kind.cut || !kind.qk_norm;
      })) {
    return "layers that differ from each other";
  }
  return {};
}

}  // namespace

bool looks_both_ways(const ConfigReader& config) {
  const auto is = [&](std::string_view name, bool value) {
    const Json* setting = config.find(name);
    return setting && setting->is_bool() && setting->as_bool() == value;
  };
  const bool says_so = is("use_bidirectional_attention", true) || is("is_causal", false);
  return says_so && find_family(config.text("model_type", "")) != nullptr;
}

EncoderConfig both_ways(const ConfigReader& config) {
  const std::string type = config.text("model_type", "");
  const bool is_gemma = type == "gemma3_text";
  const DecoderConfig decoder = find_family(type)->decoder(config);
  check_decoder_config(decoder);
  if (const std::string_view part = not_of_encoders(decoder); !part.empty()) {
    throw Error(ErrorCode::kUnsupported, cat("a '", type, "' that looks both ways has ", part,
                                             ", which Wick knows of those that continue text only"));
  }
  EncoderConfig encoder;
  encoder.family = type;
  encoder.layers = decoder.layers;
  encoder.hidden = decoder.hidden;
  encoder.heads = decoder.heads;
  encoder.kv_heads = decoder.kv_heads;
  encoder.head_dim = decoder.head_dim;
  encoder.intermediate = decoder.intermediate;
  encoder.vocabulary = decoder.vocabulary;
  encoder.positions = decoder.max_positions;
  encoder.learns_positions = encoder.norms_sums = false;
  encoder.embedding_scale = decoder.embedding_scale;
  encoder.attention_bias = decoder.attention_bias;
  encoder.out_bias = decoder.output_bias;
  encoder.mlp_bias = decoder.mlp_bias;
  encoder.norm = decoder.norm;
  encoder.norm_bias = decoder.norm == NormKind::kLayer && decoder.norm_bias;
  encoder.norm_offset = decoder.norm_offset;
  encoder.eps = decoder.norm_eps;
  encoder.activation = decoder.activation;
  encoder.score_scale = decoder.attention_scale;
  for (const LayerKind& kind : decoder.kinds) {
    if (kind.window > 0 && !is_gemma) {
      throw Error(
          ErrorCode::kUnsupported,
          cat("a '", type, "' that looks both ways has windows, and how far they reach to each side is not known"));
    }
    encoder.windows.push_back(kind.window / 2);  // to each side
    encoder.ropes.push_back(decoder.ropes.at(static_cast<size_t>(kind.rope)));
  }
  const DecoderNames& from = decoder.names;
  EncoderNames& names = encoder.names;
  const auto in_model = [](const std::string& name) { return name.substr(name.starts_with("model.") ? 6 : 0); };
  names.tokens = in_model(from.embed);
  if (!from.embed_norm.empty()) names.embedding_norm = in_model(from.embed_norm);
  names.layers = in_model(from.layers);
  names.final_norm = in_model(from.final_norm);
  names.attn_norm = from.attn_norm;
  names.q = from.q;
  names.k = from.k;
  names.v = from.v;
  names.out = from.o;
  if (decoder.qk_norm == QkNorm::kPerHead) {
    if (decoder.qk_norm_kind != NormKind::kRms || !decoder.qk_norm_weights) {
      throw Error(ErrorCode::kUnsupported,
                  cat("a '", type, "' that looks both ways has norms of heads of another make"));
    }
    names.q_norm = from.q_norm;
    names.k_norm = from.k_norm;
  }
  names.attn_post_norm = from.attn_post_norm;
  names.mlp_norm = from.mlp_norm;
  names.mlp_post_norm = from.mlp_post_norm;
  names.gate = from.gate;
  names.up = from.up;
  names.down = from.down;
  check_settings(config, false);
  return encoder;
}

}  // namespace wick
