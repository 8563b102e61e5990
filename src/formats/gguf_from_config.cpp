#include <cmath>
#include <numbers>

#include "base/text.h"
#include "formats/architectures.h"
#include "formats/config_keys.h"
#include "formats/gguf_config.h"

namespace wick {
namespace {

const Json* present(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  return member && !member->is_null() ? member : nullptr;
}

// The member under its usual or one of its older spellings; null when there is none.
const Json* spelled(const Json& config, std::string_view hf, std::string_view older) {
  if (const Json* member = present(config, hf)) return member;
  while (!older.empty()) {
    const size_t end = std::min(older.find(' '), older.size());
    if (const Json* member = present(config, older.substr(0, end))) return member;
    older.remove_prefix(std::min(end + 1, older.size()));
  }
  return nullptr;
}

// Rope settings wherever they stand: at the top, in rope_scaling, in rope_parameters, or nested there per layer type.
const Json* rope_setting(const Json& config, std::string_view name, std::string_view layer_type = "full_attention") {
  for (const std::string_view block : {"rope_parameters", "rope_scaling"}) {
    const Json* rope = present(config, block);
    if (!rope) continue;
    const Json* nested = present(*rope, layer_type);
    if (const Json* member = present(nested ? *nested : *rope, name)) return member;
  }
  return layer_type == "full_attention" ? present(config, name) : nullptr;
}

std::string rope_type(const Json& config) {
  const Json* type = rope_setting(config, "rope_type");
  if (!type) type = rope_setting(config, "type");
  return type ? type->as_text() : "default";
}

class Writer {
 public:
  explicit Writer(const Json& config) : config_(text_config(config)) {
    const std::string& type = config_.at("model_type").as_text();
    const Architecture* known = find_architecture(type);
    if (!known) {
      throw Error(ErrorCode::kUnsupported,
                  cat(config_.at("model_type").place(), " is '", type, "', for which GGUF defines no architecture"));
    }
    name_ = known->gguf;
    out_.set_text("general.architecture", name_);
  }

  Metadata write() {
    write_keys();
    write_heads();
    write_rope();
    write_layers();
    write_experts();
    write_state();
    return std::move(out_);
  }

 private:
  bool is(std::string_view architecture) const { return name_ == architecture; }
  std::string key(std::string_view suffix) const { return cat(name_, ".", suffix); }
  int64_t integer(std::string_view hf, std::string_view older, int64_t fallback) const {
    const Json* member = spelled(config_, hf, older);
    return member ? member->to<uint32_t>() : fallback;
  }
  void set_u32(std::string_view suffix, const Json& value) { out_.set_u32(key(suffix), value.to<uint32_t>()); }
  void set_u32(std::string_view suffix, int64_t value) { out_.set_u32(key(suffix), static_cast<uint32_t>(value)); }
  void set_f32(std::string_view suffix, double value) { out_.set_f32(key(suffix), static_cast<float>(value)); }

  void write_keys() {
    const bool layer_norm_is_rms = is("mamba") || is("mamba2");
    for (const ConfigKey& row : config_keys()) {
      const Json* value = spelled(config_, row.hf, row.older);
      if (!value) value = present(config_, family_spelling(name_, row.hf));
      if (!value || value->is_array()) continue;
      if (row.gguf == "attention.layer_norm_epsilon" && layer_norm_is_rms) continue;
      if (row.gguf == "attention.sliding_window" && !config_.get("use_sliding_window", true)) continue;
      switch (row.kind) {
        case ConfigKind::kInteger: set_u32(row.gguf, *value); break;
        case ConfigKind::kNumber: set_f32(row.gguf, value->as_number()); break;
        case ConfigKind::kBool: out_.set_bool(key(row.gguf), value->as_bool()); break;
      }
    }
    const int64_t hidden = integer("hidden_size", "n_embd d_model", 0);
    if (!out_.find(key("feed_forward_length"))) set_u32("feed_forward_length", layer_norm_is_rms ? 0 : 4 * hidden);
    if (!out_.find(key("context_length"))) set_u32("context_length", layer_norm_is_rms ? 1 << 20 : 2048);
    if (is("olmo")) set_f32("attention.layer_norm_epsilon", 1e-5);
    if (is("nemotron")) set_f32("attention.layer_norm_epsilon", config_.get("norm_eps", 1e-5));
    if (is("phi3") && !out_.find(key("attention.sliding_window"))) set_u32("attention.sliding_window", 0);
    if (is("falcon")) out_.set_text(key("tensor_data_layout"), "jploski");
  }

  void write_heads() {
    if (is("mamba") || is("mamba2")) return set_u32("attention.head_count", 0);
    const int64_t heads = integer("num_attention_heads", "n_head", 0);
    const int64_t hidden = integer("hidden_size", "n_embd d_model", 0);
    if (heads <= 0 || hidden <= 0) {
      throw Error(ErrorCode::kBadFile,
                  cat(config_.place(), ": num_attention_heads is ", heads, " and hidden_size ", hidden));
    }
    head_dim_ = integer("head_dim", "", hidden / heads);
    if (is("falcon") && !config_.get("new_decoder_architecture", false)) {
      set_u32("attention.head_count_kv", config_.get("multi_query", true) ? 1 : heads);
    } else if (!out_.find(key("attention.head_count_kv")) && !is("gpt2") && !is("gptneox") && !is("bloom")) {
      set_u32("attention.head_count_kv", heads);
    }
    if (is("deepseek2")) {
      const int64_t rank = config_.get<int64_t>("kv_lora_rank", 512);
      const int64_t rope = config_.get<int64_t>("qk_rope_head_dim", 64);
      set_u32("attention.head_count_kv", 1);
      set_u32("attention.key_length", rank + rope);
      set_u32("attention.value_length", rank);
      set_u32("attention.key_length_mla", config_.get<int64_t>("qk_nope_head_dim", 128) + rope);
      set_u32("attention.value_length_mla", config_.get<int64_t>("v_head_dim", 128));
    } else if (present(config_, "head_dim") && !is("granite") && !is("granitemoe")) {
      set_u32("attention.key_length", head_dim_);
      set_u32("attention.value_length", head_dim_);
    }
  }

  void write_rope() {
    if (is("mamba") || is("mamba2") || is("gpt2") || is("bloom")) return;
    if (const Json* theta = rope_setting(config_, "rope_theta")) {
      set_f32("rope.freq_base", theta->as_number());
    } else if (const Json* older = present(config_, "rotary_emb_base")) {
      set_f32("rope.freq_base", older->as_number());
    }
    const Json* local = rope_setting(config_, "rope_theta", "sliding_attention");
    if (!local || !is("gemma3")) local = present(config_, "rope_local_base_freq");
    if (local) set_f32("rope.freq_base_swa", local->as_number());
    const Json* part = rope_setting(config_, "partial_rotary_factor");
    if (!part) part = spelled(config_, "rotary_pct", "rope_pct");
    const Json* rotated = present(config_, "rope_parameters") ? nullptr : present(config_, "rotary_dim");
    if (rotated) {
      set_u32("rope.dimension_count", *rotated);
      return write_rope_scaling();
    }
    const double factor = part ? part->as_number() : is("gptneox") || is("stablelm") ? 0.25 : is("phi2") ? 0.5 : 1.0;
    set_u32("rope.dimension_count", is("deepseek2") ? config_.get<int64_t>("qk_rope_head_dim", 64)
                                                    : static_cast<int64_t>(factor * static_cast<double>(head_dim_)));
    write_rope_scaling();
  }

  void write_rope_scaling() {
    const std::string type = rope_type(config_);
    const Json* factor = rope_setting(config_, "factor");
    const Json* context = rope_setting(config_, "original_max_position_embeddings");
    if ((type == "linear" || type == "yarn") && factor) {
      out_.set_text(key("rope.scaling.type"), type);
      set_f32("rope.scaling.factor", factor->as_number());
    }
    if (type == "longrope" || type == "su") out_.set_text(key("rope.scaling.type"), "longrope");
    if (context && (type == "yarn" || is("phi3") || is("phimoe")))
      set_u32("rope.scaling.original_context_length", *context);
    if (type == "yarn") {
      constexpr std::pair<std::string_view, std::string_view> kYarn[] = {
          {"attention_factor", "rope.scaling.yarn_attn_factor"},
          {"beta_fast", "rope.scaling.yarn_beta_fast"},
          {"beta_slow", "rope.scaling.yarn_beta_slow"},
      };
      for (const auto& [hf, gguf] : kYarn) {
        if (const Json* value = rope_setting(config_, hf)) set_f32(gguf, value->as_number());
      }
      const Json* all = rope_setting(config_, "mscale_all_dim");
      if (is("deepseek2") && all) set_f32("rope.scaling.yarn_log_multiplier", 0.1 * all->as_number());
    }
    if ((type == "longrope" || type == "su") && context) {
      const Json* given = rope_setting(config_, "attention_factor");
      const double original = context->as_number();
      const double scale = static_cast<double>(integer("max_position_embeddings", "n_positions", 0)) / original;
      const double computed = scale > 1 ? std::sqrt(1 + std::log(scale) / std::log(original)) : 1;
      set_f32("rope.scaling.attn_factor", given ? given->as_number() : computed);
    }
  }

  void write_layers() {
    if (const Json* types = present(config_, "layer_types")) {
      std::vector<int32_t> sliding, kv_heads;
      bool usual = true, any = false;
      const int period = window_period(name_);
      for (const Json& type : types->as_array()) {
        const bool slides = type.as_text() == "sliding_attention";
        const auto next = static_cast<int>(sliding.size()) + 1;
        usual = usual && slides == (period > 0 && next % period != 0);
        any = any || slides;
        sliding.push_back(slides);
        kv_heads.push_back(type.as_text() == "conv" ? 0 : static_cast<int32_t>(integer("num_key_value_heads", "", 0)));
      }
      if (is("lfm2") || is("lfm2moe")) {
        out_.set_i32s(key("attention.head_count_kv"), kv_heads);
      } else if (!usual && (any || period > 0)) {
        out_.set_i32s(key("attention.sliding_window_pattern"), sliding);
      }
    }
    if (is("smollm3") && present(config_, "no_rope_layers")) {
      const auto rope = config_.at("no_rope_layers").to<std::vector<int32_t>>();
      bool usual = true;
      for (size_t i = 0; i < rope.size(); ++i) usual = usual && (rope[i] == 0) == ((i + 1) % 4 == 0);
      if (!usual) out_.set_i32s(key("attention.rope_pattern"), rope);
    }
  }

  void write_experts() {
    if (const Json* scoring = spelled(config_, "scoring_func", "score_function")) {
      set_u32("expert_gating_func", scoring->as_text() == "sigmoid" ? 2 : 1);
    }
    // Of these no file says so, since they know no other.
    const bool sigmoid = is("glm4moe") || is("dots1") || is("minimax-m2") || is("lfm2moe") ||
                         config_.get("model_type", "") == "deepseek_v3";
    if (sigmoid && !out_.find(key("expert_gating_func"))) set_u32("expert_gating_func", 2);
    if (is("gpt-oss")) set_u32("expert_feed_forward_length", integer("intermediate_size", "", 0));
    if (is("deepseek2") && !out_.find(key("expert_shared_count"))) set_u32("expert_shared_count", 0);
  }

  void write_state() {
    if (!is("mamba") && !is("mamba2")) return;
    const int64_t hidden = integer("hidden_size", "d_model", 0);
    const int64_t inner = integer("intermediate_size", "d_inner", config_.get<int64_t>("expand", 2) * hidden);
    set_u32("feed_forward_length", 0);
    set_u32("ssm.inner_size", inner);
    const Json* eps = spelled(config_, "layer_norm_epsilon", "rms_norm_eps");
    set_f32("attention.layer_norm_rms_epsilon", eps ? eps->as_number() : 1e-5);
    if (is("mamba2")) {
      set_u32("ssm.time_step_rank", integer("num_heads", "", inner / config_.get<int64_t>("head_dim", 64)));
      set_u32("ssm.group_count", config_.get<int64_t>("n_groups", 1));
    } else {
      const Json* rank = present(config_, "time_step_rank");
      set_u32("ssm.time_step_rank", rank && rank->is_int() ? rank->as_int() : (hidden + 15) / 16);
    }
  }

  const Json& config_;
  std::string name_;
  int64_t head_dim_ = 0;
  Metadata out_;
};

// How much each frequency of llama3 scaling is slowed: not at all when its wave is short, by `factor` when it is longer
// than the original context, in between by a blend.
std::vector<float> llama3_factors(const Json& config) {
  const auto setting = [&](std::string_view name, double fallback) {
    const Json* member = rope_setting(config, name);
    return member ? member->as_number() : fallback;
  };
  const double base = setting("rope_theta", 10000), factor = setting("factor", 8);
  const double low = setting("low_freq_factor", 1), high = setting("high_freq_factor", 4);
  const double context = setting("original_max_position_embeddings", 8192);
  const int64_t heads = config.at("num_attention_heads").as_int();
  const int64_t dim = config.get<int64_t>("head_dim", heads > 0 ? config.at("hidden_size").as_int() / heads : 0);
  std::vector<float> factors;
  for (int64_t i = 0; i + 1 < dim && i < 65536; i += 2) {
    const double wave = 2 * std::numbers::pi * std::pow(base, static_cast<double>(i) / static_cast<double>(dim));
    double slowed = factor;
    if (wave < context / high) {
      slowed = 1;
    } else if (wave <= context / low) {
      const double blend = (context / wave - low) / (high - low);
      slowed = 1 / ((1 - blend) / factor + blend);
    }
    factors.push_back(static_cast<float>(slowed));
  }
  return factors;
}

}  // namespace

const Json& text_config(const Json& config) {
  const Json* thinker = present(config, "thinker_config");
  const Json* nested = present(thinker && thinker->is_object() ? *thinker : config, "text_config");
  return nested && nested->is_object() ? *nested : config;
}

Metadata gguf_from_config(const Json& config) { return Writer(config).write(); }

std::vector<RopeTensor> rope_tensors(const Json& config) {
  const Json& text = text_config(config);
  const std::string type = rope_type(text);
  if (type == "llama3") return {{"rope_freqs.weight", llama3_factors(text)}};
  if (type != "longrope" && type != "su") return {};
  std::vector<RopeTensor> tensors;
  for (const std::string_view length : {"long", "short"}) {
    const Json* factors = rope_setting(text, cat(length, "_factor"));
    if (factors) tensors.push_back({cat("rope_factors_", length, ".weight"), factors->to<std::vector<float>>()});
  }
  return tensors;
}

}  // namespace wick
