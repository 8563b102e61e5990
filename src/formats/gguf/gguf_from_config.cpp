#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/normal_distribution.h"
#include "base/text.h"
#include "formats/architectures.h"
#include "formats/config_keys.h"
#include "formats/gguf/gguf_config.h"

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

bool is_gemma4(const Json& config) {
  const Architecture* known = find_architecture(config.get("model_type", ""));
  return known && known->gguf == "gemma4";
}

bool slides(const Json& config, std::string_view architecture, int64_t layer) {
  const Json* types = present(config, "layer_types");
  const int period = window_period(architecture);
  return types ? types->as_array().at(static_cast<size_t>(layer)).as_text() == "sliding_attention"
               : (layer + 1) % period != 0;
}

// Components of a head in layers of Gemma 4 that see everything.
int64_t full_head_dim(const Json& config) {
  const Json* own = present(config, "per_layer_config");
  if (!own) return config.get<int64_t>("global_head_dim", 512);
  const int64_t layers = config.at("num_hidden_layers").as_int(), local = config.get<int64_t>("head_dim", 256);
  for (int64_t i = 0; i < layers; ++i) {
    const Json* layer = present(*own, cat(i));
    if (layer && (i + 1 == layers || !slides(config, "gemma4", i))) return layer->get("head_dim", local);
  }
  return local;
}

class Writer {
 public:
  explicit Writer(const Json& config) : config_(text_config(config)) {
    const std::string& type = config_.at("model_type").as_text();
    const Architecture* known = find_architecture(type);
    if (!known) {
      throw Error(ErrorCode::kUnsupported, cat(config_.at("model_type").place(), " is '", type,
                                               "', for which Wick knows no architecture of GGUF"));
    }
    name_ = known->gguf;
    if (is("nemotron_h") && has_block("moe", 'E')) name_ = "nemotron_h_moe";
    const bool is_jina = is("bert") && config_.get("position_embedding_type", "absolute") == "alibi";
    const bool is_embedder = is("gemma3") && config_.get("use_bidirectional_attention", false);
    if (is("t5") || is("nomic-bert") || is_jina || is_embedder)
      throw Error(ErrorCode::kUnsupported, cat("a '", type, "' is read from GGUF, but not written"));
    out_.set_text("general.architecture", name_);
  }

  Metadata write() {
    write_keys();
    write_heads();
    write_rope();
    write_layers();
    write_experts();
    write_state();
    if (is("gemma3n") || is("gemma4")) write_gemma_layers();
    if (is("llama4")) write_llama4();
    if (is("bert")) out_.set_bool(key("attention.causal"), false);
    return std::move(out_);
  }

 private:
  bool is(std::string_view architecture) const { return name_ == architecture; }
  bool is_nemotron_h() const { return name_.starts_with("nemotron_h"); }
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
      if (row.gguf == "attention.layer_norm_epsilon" && (layer_norm_is_rms || is_nemotron_h())) continue;
      if (is("nemotron_h") && row.gguf.starts_with("expert_")) continue;  // which it says without having any
      if (row.gguf == "embedding_scale" && is("falcon-h1")) continue;     // goes into the weights
      if (row.gguf == "attention.sliding_window" && !config_.get("use_sliding_window", true)) continue;
      switch (row.kind) {
        case ConfigKind::kInteger: set_u32(row.gguf, *value); break;
        case ConfigKind::kNumber: set_f32(row.gguf, value->as_number()); break;
        case ConfigKind::kBool: out_.set_bool(key(row.gguf), value->as_bool()); break;
      }
    }
    const int64_t hidden = integer("hidden_size", "n_embd d_model", 0);
    if (const Json* inner = present(config_, "intermediate_size"); inner && inner->is_array()) {
      out_.set_i32s(key("feed_forward_length"), inner->to<std::vector<int32_t>>());
    }
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
    } else if (!out_.find(key("attention.head_count_kv")) && !is("gpt2") && !is("gptneox") && !is("bloom") &&
               !is("bert")) {
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
    if (is("mamba") || is("mamba2") || is("gpt2") || is("bloom") || is("bert")) return;
    if (is("jamba") || is_nemotron_h()) return;
    if (const Json* theta = rope_setting(config_, "rope_theta")) {
      set_f32("rope.freq_base", theta->as_number());
    } else if (const Json* older = present(config_, "rotary_emb_base")) {
      set_f32("rope.freq_base", older->as_number());
    }
    const Json* local = rope_setting(config_, "rope_theta", "sliding_attention");
    if (!local || !name_.starts_with("gemma")) local = present(config_, "rope_local_base_freq");
    if (local) set_f32("rope.freq_base_swa", local->as_number());
    if (is("gemma4")) return;
    const Json* part = rope_setting(config_, "partial_rotary_factor");
    if (!part) part = spelled(config_, "rotary_pct", "rope_pct");
    const Json* rotated = present(config_, "rope_parameters") ? nullptr : present(config_, "rotary_dim");
    if (rotated) {
      set_u32("rope.dimension_count", *rotated);
      return write_rope_scaling();
    }
    const double factor = part                                                 ? part->as_number()
                          : is("gptneox") || is("stablelm") || is("qwen3next") ? 0.25
                          : is("phi2")                                         ? 0.5
                                                                               : 1.0;
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
        const bool attends = type.as_text().ends_with("attention") && type.as_text() != "linear_attention";
        kv_heads.push_back(attends ? static_cast<int32_t>(integer("num_key_value_heads", "", 0)) : 0);
      }
      if (is("lfm2") || is("lfm2moe") || is("granitehybrid")) {
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

  // Granite 4. Without experts GGUF calls the MLP that all tokens go through simply the MLP.
  void write_granite_hybrid() {
    const Json* types = present(config_, "layer_types");
    const auto is_recurrent = [](const Json& type) { return !type.as_text().ends_with("attention"); };
    const auto is_linear = [](const Json& type) { return type.as_text() == "linear_attention"; };
    const bool is_mixed = !types || std::any_of(types->as_array().begin(), types->as_array().end(),
                                                [&](const Json& t) { return is_recurrent(t) || is_linear(t); });
    const int64_t heads = integer("mamba_n_heads", "", 0), head_dim = integer("mamba_d_head", "", 0);
    if (!types || !is_mixed || heads == 0 || head_dim == 0) {
      throw Error(ErrorCode::kUnsupported, cat(config_.place(),
                                               ": a Granite 4 is written as GGUF only with layer_types, of which some "
                                               "are Mamba's, mamba_n_heads and mamba_d_head"));
    }
    set_u32("ssm.inner_size", heads * head_dim);
    set_u32("ssm.time_step_rank", heads);
    if (!out_.find(key("ssm.group_count"))) set_u32("ssm.group_count", 1);
    if (!out_.find(key("ssm.conv_kernel"))) set_u32("ssm.conv_kernel", 4);
    const Json* positions = present(config_, "position_embedding_type");
    out_.set_bool(key("rope.scaling.finetuned"), positions && positions->as_text() == "rope");
    if (integer("num_local_experts", "", 8) == 0) {
      set_u32("feed_forward_length", integer("shared_intermediate_size", "", 1024));
    }
  }

  // Settings that GGUF has no key for are as the published models have them.
  void expect(std::string_view name, const Json& usual) const {
    const Json* member = present(config_, name);
    const bool same = !member || (member->is_bool() && usual.is_bool() && member->as_bool() == usual.as_bool()) ||
                      (member->is_number() && usual.is_number() && member->as_number() == usual.as_number()) ||
                      (member->is_text() && usual.is_text() && member->as_text() == usual.as_text());
    if (same) return;
    throw Error(ErrorCode::kUnsupported,
                cat(member->place(), " is not that of the published models, and GGUF has no key for it"));
  }
  void expect_no_bias(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) expect(name, Json::parse("false", "usual"));
  }
  void expect_any_step() const {
    const Json* limit = present(config_, "time_step_limit");
    const bool is_open = !limit || (limit->as_array().size() == 2 && limit->as_array()[0].is_number() &&
                                    limit->as_array()[0].as_number() == 0 && !limit->as_array()[1].is_number());
    if (is_open) return;
    throw Error(ErrorCode::kUnsupported, cat(limit->place(), " bounds steps of time, and GGUF has no key for it"));
  }

  void write_jamba() {
    const int64_t layers = integer("num_hidden_layers", "", 0), heads = integer("num_key_value_heads", "", 0);
    const int64_t period = integer("attn_layer_period", "", 8), offset = integer("attn_layer_offset", "", 4);
    const int64_t hidden = integer("hidden_size", "", 0);
    if (period < 1) throw Error(ErrorCode::kBadFile, cat(config_.place(), ": attn_layer_period is ", period));
    std::vector<int32_t> kv_heads;
    for (int64_t i = 0; i < layers && i < 10000; ++i) {
      kv_heads.push_back(i % period == offset ? static_cast<int32_t>(heads) : 0);
    }
    out_.set_i32s(key("attention.head_count_kv"), kv_heads);
    expect_no_bias({"mamba_proj_bias"});
    const Json* rank = present(config_, "mamba_dt_rank");
    set_u32("ssm.inner_size", static_cast<int64_t>(config_.get("mamba_expand", 2.0) * static_cast<double>(hidden)));
    set_u32("ssm.time_step_rank", rank && rank->is_int() ? rank->as_int() : (hidden + 15) / 16);
    if (!out_.find(key("ssm.conv_kernel"))) set_u32("ssm.conv_kernel", 4);
    if (!out_.find(key("ssm.state_size"))) set_u32("ssm.state_size", 16);
    if (!out_.find(key("attention.layer_norm_rms_epsilon"))) set_f32("attention.layer_norm_rms_epsilon", 1e-6);
  }

  void write_falcon_h1() {
    const int64_t hidden = integer("hidden_size", "", 0), heads = integer("mamba_n_heads", "", 128);
    const int64_t inner = integer("mamba_d_ssm", "",
                                  static_cast<int64_t>(config_.get("mamba_expand", 2.0) * static_cast<double>(hidden)));
    expect_no_bias({"mamba_proj_bias", "projectors_bias", "attention_bias", "mlp_bias"});
    expect_any_step();
    if (config_.get("mamba_rms_norm", false)) expect_no_bias({"mamba_norm_before_gate"});
    set_u32("ssm.inner_size", inner);
    set_u32("ssm.time_step_rank", heads);
    if (!out_.find(key("ssm.group_count"))) set_u32("ssm.group_count", 1);
    if (!out_.find(key("ssm.conv_kernel"))) set_u32("ssm.conv_kernel", 4);
    if (!out_.find(key("ssm.state_size"))) set_u32("ssm.state_size", 256);
    if (!out_.find(key("attention.layer_norm_rms_epsilon"))) set_f32("attention.layer_norm_rms_epsilon", 1e-5);
    set_u32("attention.key_length", head_dim_);
    set_u32("attention.value_length", head_dim_);
  }

  // Kinds of layers: names, or a letter for each.
  std::vector<std::string> blocks() const {
    for (const char* name : {"layers_block_type", "layer_types"}) {
      if (const Json* types = present(config_, name)) return types->to<std::vector<std::string>>();
    }
    std::vector<std::string> letters;
    for (const char letter : config_.get<std::string>("hybrid_override_pattern", "")) letters.emplace_back(1, letter);
    return letters;
  }
  bool has_block(std::string_view name, char letter) const {
    const std::vector<std::string> all = blocks();
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& block) { return block == name || block == std::string(1, letter); });
  }

  void write_nemotron_h() {
    const bool has_experts = is("nemotron_h_moe");
    if (has_experts && has_block("mlp", '-')) {
      throw Error(ErrorCode::kUnsupported,
                  cat(config_.place(), ": GGUF has no place for MLPs and experts in one nemotron_h"));
    }
    const int64_t kv = integer("num_key_value_heads", "", integer("num_attention_heads", "", 0));
    const int64_t width =
        has_experts ? integer("moe_intermediate_size", "", 7688) : integer("intermediate_size", "", 21504);
    std::vector<int32_t> kv_heads, sizes;
    for (const std::string& block : blocks()) {
      const bool attends = block == "attention" || block == "full_attention" || block == "*";
      const bool is_mlp = block == "mlp" || block == "moe" || block == "-" || block == "E";
      kv_heads.push_back(attends ? static_cast<int32_t>(kv) : 0);
      sizes.push_back(is_mlp ? static_cast<int32_t>(width) : 0);
    }
    set_u32("block_count", std::ssize(kv_heads));
    out_.set_i32s(key("attention.head_count_kv"), kv_heads);
    out_.set_i32s(key("feed_forward_length"), sizes);
    expect_no_bias({"mamba_proj_bias", "use_bias"});
    expect_any_step();
    expect("time_step_min", Json::parse("0.001", "usual"));
    expect("mlp_hidden_act", Json::parse("\"relu2\"", "usual"));
    const int64_t heads = integer("mamba_num_heads", "", 128), head_dim = integer("head_dim", "", 128);
    set_u32("ssm.inner_size", heads * integer("mamba_head_dim", "", 64));
    set_u32("ssm.time_step_rank", heads);
    if (!out_.find(key("ssm.group_count"))) set_u32("ssm.group_count", 8);
    if (!out_.find(key("ssm.conv_kernel"))) set_u32("ssm.conv_kernel", 4);
    if (!out_.find(key("ssm.state_size"))) set_u32("ssm.state_size", 128);
    if (!out_.find(key("attention.layer_norm_rms_epsilon"))) set_f32("attention.layer_norm_rms_epsilon", 1e-5);
    set_f32("attention.layer_norm_epsilon", config_.get("layer_norm_epsilon", 1e-5));
    set_u32("attention.key_length", head_dim);
    set_u32("attention.value_length", head_dim);
  }

  void write_qwen3_next() {
    const int64_t interval = integer("full_attention_interval", "", 4), layers = integer("num_hidden_layers", "", 0);
    const Json* types = present(config_, "layer_types");
    const Json* dense = present(config_, "mlp_only_layers");
    bool is_usual = interval > 0 && integer("decoder_sparse_step", "", 1) == 1 && (!dense || dense->as_array().empty());
    for (int64_t i = 0; is_usual && types && i < std::min<int64_t>(layers, std::ssize(types->as_array())); ++i) {
      const bool attends = types->as_array()[static_cast<size_t>(i)].as_text() == "full_attention";
      is_usual = attends == ((i + 1) % interval == 0);
    }
    if (!is_usual) {
      throw Error(
          ErrorCode::kUnsupported,
          cat(config_.place(), ": GGUF has a qwen3next with attention at one interval and experts on every layer"));
    }
    const int64_t heads = integer("linear_num_value_heads", "", 32);
    set_u32("full_attention_interval", interval);
    set_u32("ssm.inner_size", heads * integer("linear_value_head_dim", "", 128));
    set_u32("ssm.time_step_rank", heads);
    if (!out_.find(key("ssm.group_count"))) set_u32("ssm.group_count", 16);
    if (!out_.find(key("ssm.state_size"))) set_u32("ssm.state_size", 128);
    if (!out_.find(key("ssm.conv_kernel"))) set_u32("ssm.conv_kernel", 4);
    if (!out_.find(key("attention.key_length"))) {
      set_u32("attention.key_length", 256);
      set_u32("attention.value_length", 256);
    }
  }

  void write_gemma_layers() {
    const int64_t layers = integer("num_hidden_layers", "", 0);
    const Json* types = present(config_, "layer_types");
    if (types && std::ssize(types->as_array()) != layers) {
      throw Error(ErrorCode::kBadFile, cat(types->place(), " does not name ", layers, " layers"));
    }
    std::vector<int32_t> sliding;
    for (int64_t i = 0; i < layers; ++i) {
      sliding.push_back(slides(config_, name_, i) && !(is("gemma4") && i + 1 == layers));
    }
    out_.set_i32s(key("attention.sliding_window_pattern"), sliding);
    if (is("gemma4")) return write_gemma4(sliding);
    if (!out_.find(key("attention.shared_kv_layers"))) set_u32("attention.shared_kv_layers", 15);
    if (!out_.find(key("embedding_length_per_layer_input"))) set_u32("embedding_length_per_layer_input", 256);
    if (!out_.find(key("altup.num_inputs"))) set_u32("altup.num_inputs", 4);
    if (!out_.find(key("altup.active_idx"))) set_u32("altup.active_idx", 0);
    if (!out_.find(key("final_logit_softcapping"))) set_f32("final_logit_softcapping", 30);
    std::vector<float> deviations;
    const Json* pattern = present(config_, "activation_sparsity_pattern");
    for (int64_t i = 0; i < layers; ++i) {
      const double share = pattern                 ? pattern->as_array().at(static_cast<size_t>(i)).as_number()
                           : layers > 10 && i < 10 ? 0.95
                                                   : 0;
      deviations.push_back(static_cast<float>(normal_deviations(share)));
    }
    out_.set_f32s(key("activation_sparsity_scale"), deviations);
  }

  void write_gemma4(const std::vector<int32_t>& sliding) {
    const Json* own = present(config_, "per_layer_config");
    const int64_t full_dim = full_head_dim(config_);
    std::vector<int32_t> kv_heads, inner;
    const int64_t local_kv = integer("num_key_value_heads", "", 4), size = integer("intermediate_size", "", 9216);
    const bool keys_are_values = config_.get("attention_k_eq_v", false);
    const int64_t layers = std::ssize(sliding), first_shared = layers - integer("num_kv_shared_layers", "", 0);
    for (int64_t i = 0; i < layers; ++i) {
      const bool is_full = sliding[static_cast<size_t>(i)] == 0;
      const Json* layer = own ? present(*own, cat(i)) : nullptr;
      int64_t heads =
          is_full && keys_are_values && !own ? integer("num_global_key_value_heads", "", local_kv) : local_kv;
      if (layer) {
        heads = layer->get("num_key_value_heads", heads);
      }
      const int64_t dim = layer ? layer->get("head_dim", head_dim_) : is_full && !own ? full_dim : head_dim_;
      if (dim != (is_full ? full_dim : head_dim_)) {
        throw Error(ErrorCode::kUnsupported, cat(own->place(),
                                                 " gives layers of one kind heads of different sizes, for "
                                                 "which GGUF has no words"));
      }
      kv_heads.push_back(static_cast<int32_t>(heads));
      const bool doubled = config_.get("use_double_wide_mlp", false) && first_shared > 0 && i >= first_shared;
      inner.push_back(static_cast<int32_t>(doubled ? 2 * size : size));
    }
    for (const char* end : {"", "_swa"}) {
      const int64_t dim = *end ? head_dim_ : full_dim;
      set_u32(cat("attention.key_length", end), dim);
      set_u32(cat("attention.value_length", end), dim);
      set_u32(cat("rope.dimension_count", end), dim);
    }
    out_.set_i32s(key("attention.head_count_kv"), kv_heads);
    out_.set_i32s(key("feed_forward_length"), inner);
    if (!out_.find(key("attention.shared_kv_layers"))) set_u32("attention.shared_kv_layers", 0);
    if (!out_.find(key("embedding_length_per_layer_input"))) set_u32("embedding_length_per_layer_input", 256);
    if (!out_.find(key("rope.freq_base"))) set_f32("rope.freq_base", 1e6);
    if (!out_.find(key("rope.freq_base_swa"))) set_f32("rope.freq_base_swa", 1e4);
  }

  // What GGUF has no key for is as it is in the models that were published.
  void write_llama4() {
    const auto expect = [&](std::string_view name, double usual) {
      const Json* member = present(config_, name);
      if (!member || member->as_number() == usual) return;
      throw Error(ErrorCode::kUnsupported, cat(member->place(), " is ", member->as_number(),
                                               ", for which GGUF has no key: a llama4 has ", usual));
    };
    expect("attention_chunk_size", 8192);
    expect("floor_scale", 8192);
    expect("attn_scale", 0.1);
    expect("no_rope_layer_interval", 4);
    const auto refuse_unless = [&](bool usual, const Json& member) {
      if (usual) return;
      throw Error(ErrorCode::kUnsupported, cat(member.place(),
                                               " is not that of the published models, and GGUF has no "
                                               "key for it"));
    };
    size_t index = 0;
    if (const Json* rotates = present(config_, "no_rope_layers")) {
      for (const Json& each : rotates->as_array()) refuse_unless((each.as_int() != 0) == (++index % 4 != 0), each);
    }
    index = 0;
    if (const Json* types = present(config_, "layer_types")) {
      for (const Json& each : types->as_array()) {
        refuse_unless((each.as_text() == "chunked_attention") == (++index % 4 != 0), each);
      }
    }
    const bool norms = config_.get("use_qk_norm", true);
    if (norms == (integer("num_local_experts", "", 16) == 128)) refuse_unless(false, config_.at("num_local_experts"));
    const int64_t step = integer("interleave_moe_layer_step", "", 1), layers = integer("num_hidden_layers", "", 0);
    std::vector<int64_t> usual;
    for (int64_t i = step - 1; step > 0 && i < layers; i += step) usual.push_back(i);
    if (const Json* sparse = present(config_, "moe_layers")) {
      refuse_unless(sparse->to<std::vector<int64_t>>() == usual, *sparse);
    }
    set_u32("interleave_moe_layer_step", step);
    set_u32("feed_forward_length", integer("intermediate_size_mlp", "", 16384));
    set_u32("expert_feed_forward_length", integer("intermediate_size", "", 8192));
  }

  void write_state() {
    if (is("granitehybrid")) return write_granite_hybrid();
    if (is("jamba")) return write_jamba();
    if (is("falcon-h1")) return write_falcon_h1();
    if (is_nemotron_h()) return write_nemotron_h();
    if (is("qwen3next")) return write_qwen3_next();
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

// Of the pairs of a head some turn as if all did; the others are slowed down until they stand.
std::vector<float> proportional_factors(const Json& config) {
  const Json* share = rope_setting(config, "partial_rotary_factor");
  const bool given = present(config, "rope_parameters") != nullptr;
  const int64_t pairs = full_head_dim(config) / 2;
  const double turned = (share ? share->as_number() : given ? 1 : 0.25) * static_cast<double>(pairs);
  const Json* factor = rope_setting(config, "factor");
  std::vector<float> factors;
  for (int64_t i = 0; i < pairs && i < 65536; ++i) {
    factors.push_back(i < static_cast<int64_t>(turned) ? (factor ? static_cast<float>(factor->as_number()) : 1)
                                                       : 1e30f);
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
  if (type == "proportional" || (is_gemma4(text) && !present(text, "rope_parameters"))) {
    return {{"rope_freqs.weight", proportional_factors(text)}};
  }
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
