#include <algorithm>
#include <cmath>

#include "base/json_write.h"
#include "base/normal_distribution.h"
#include "base/text.h"
#include "formats/architectures.h"
#include "formats/config_keys.h"
#include "formats/gguf/gguf_config.h"

namespace wick {
namespace {

// Members of a JSON object, written in order.
class Members {
 public:
  void raw(std::string_view name, std::string_view json) {
    text_ += cat(text_.empty() ? "" : ", ", "\"", name, "\": ", json);
  }
  void integer(std::string_view name, int64_t value) { raw(name, cat(value)); }
  void number(std::string_view name, double value) {
    if (!std::isfinite(value)) throw Error(ErrorCode::kBadFile, cat("the metadata gives ", name, " as ", value));
    raw(name, cat(static_cast<float>(value)));
  }
  void boolean(std::string_view name, bool value) { raw(name, value ? "true" : "false"); }
  void text(std::string_view name, std::string_view value) {
    std::string quoted;
    append_json_text(quoted, value);
    raw(name, quoted);
  }
  void members(std::string_view json) {
    if (!json.empty()) text_ += cat(text_.empty() ? "" : ", ", json);
  }
  std::string object() const { return cat("{", text_, "}"); }

 private:
  std::string text_;
};

std::string number_list(const std::vector<float>& values) {
  std::string out = "[";
  for (const float value : values) {
    if (!std::isfinite(value)) throw Error(ErrorCode::kBadFile, cat("the rope factors contain ", value));
    if (out.size() > 1) out += ", ";
    append_number(out, value);
  }
  return out + "]";
}

class Reader {
 public:
  explicit Reader(const Checkpoint& gguf) : gguf_(gguf), meta_(gguf.metadata()) {
    name_ = meta_.text("general.architecture");
    known_ = find_architecture(name_);
    // A "llama" with experts is a Mixtral.
    if (name_ == "llama" && integer("expert_count").value_or(0) > 0) known_ = find_architecture("mixtral");
  }

  Json read() {
    write_names();
    write_keys();
    write_shapes();
    write_rope();
    write_layers();
    write_encoder();
    write_tokens();
    const std::string source = cat(gguf_.files().empty() ? "" : gguf_.files().front()->path().string(), " (metadata)");
    return Json::parse(out_.object(), source);
  }

 private:
  const MetaValue* find(std::string_view key) const { return meta_.find(cat(name_, ".", key)); }
  bool is_array(std::string_view key) const {
    const MetaValue* value = find(key);
    return value && value->type == MetaType::kArray;
  }
  std::optional<int64_t> integer(std::string_view key) const {
    if (!find(key) || is_array(key)) return std::nullopt;
    return meta_.integer(cat(name_, ".", key));
  }
  std::optional<double> number(std::string_view key) const {
    if (!find(key)) return std::nullopt;
    return meta_.number(cat(name_, ".", key));
  }
  std::vector<int64_t> integers(std::string_view key) const {
    const std::string full = cat(name_, ".", key);
    return meta_.array(full).integers(full);
  }
  // Blocks behind the model's layers predict further tokens, and are no part of its answer.
  int64_t layer_count() const {
    const int64_t blocks = integer("block_count").value_or(0), further = integer("nextn_predict_layers").value_or(0);
    if (further >= 0 && further <= blocks) return blocks - further;
    throw Error(ErrorCode::kBadFile, cat(name_, ".nextn_predict_layers is ", further, " of ", blocks, " blocks"));
  }
  bool has(std::string_view tensor) const { return gguf_.find(tensor) != nullptr; }
  bool is(std::string_view architecture) const { return name_ == architecture; }
  bool is_nemotron_h() const { return name_.starts_with("nemotron_h"); }
  // Whether some layer has the tensor; they are not all of one kind.
  bool some_layer_has(std::string_view tensor) const {
    for (int64_t i = 0; i < std::min<int64_t>(layer_count(), 10000); ++i) {
      if (has(cat("blk.", i, ".", tensor))) return true;
    }
    return false;
  }

  void write_names() {
    out_.text("model_type", known_ ? model_type() : std::string_view(name_));
    if (known_) {
      out_.raw("architectures", cat("[\"", known_->model_class, "\"]"));
      out_.members(known_->constants);
    }
  }

  std::string_view model_type() const {
    const bool sigmoid = integer("expert_gating_func").value_or(1) == 2;
    if (is_t5()) return has("enc.blk.1.attn_rel_b.weight") ? "umt5" : "t5";
    if (is("deepseek2") && !sigmoid) return "deepseek_v2";
    // GGUF calls a Mistral a llama; only the window tells.
    if (known_ == find_architecture("llama") && integer("attention.sliding_window").value_or(0) > 0) return "mistral";
    return known_->model_types.front();
  }

  void write_keys() {
    for (const ConfigKey& key : config_keys()) {
      if (!find(key.gguf) || is_array(key.gguf) || key.gguf == "vocab_size") continue;
      // DeepSeek counts one key head in GGUF, the latent one.
      if (is("deepseek2") && key.gguf == "attention.head_count_kv") continue;
      const std::string_view hf = family_spelling(name_, key.hf);
      const std::string full = cat(name_, ".", key.gguf);
      switch (key.kind) {
        case ConfigKind::kBool:
          if (!known_ || known_->constants.find(key.hf) == std::string_view::npos)
            out_.boolean(hf, meta_.boolean(full));
          break;
        case ConfigKind::kNumber: out_.number(hf, meta_.number(full)); break;
        case ConfigKind::kInteger: {
          const int64_t value = key.gguf == "block_count" ? layer_count() : meta_.integer(full);
          const bool unused = value == 0 && (is("mamba") || is("mamba2") || key.gguf == "attention.sliding_window");
          if (!unused) out_.integer(hf, value);
          break;
        }
      }
    }
    if (const auto gating = integer("expert_gating_func"))
      out_.text("scoring_func", *gating == 2 ? "sigmoid" : "softmax");
    if (has("blk.0.exp_probs_b.bias") || has("blk.3.exp_probs_b.bias")) out_.text("topk_method", "noaux_tc");
  }

  void write_shapes() {
    const TensorEntry* embeddings = gguf_.find("token_embd.weight");
    if (embeddings && embeddings->shape.rank() == 2) {
      out_.integer("vocab_size", embeddings->shape[0]);
    } else if (const auto size = integer("vocab_size")) {
      out_.integer("vocab_size", *size);
    }
    out_.boolean("tie_word_embeddings", !has("output.weight"));
    out_.boolean(
        is("qwen2") || is("qwen2moe") ? "qkv_bias" : "attention_bias",
        is_nemotron_h() ? some_layer_has("attn_q.bias") : has("blk.0.attn_q.bias") || has("blk.0.attn_qkv.bias"));
    out_.boolean("mlp_bias", is_nemotron_h() ? some_layer_has("ffn_up.bias") : has("blk.0.ffn_up.bias"));
    const int64_t heads = integer("attention.head_count").value_or(0);
    const int64_t hidden = integer("embedding_length").value_or(0);
    if (is("stablelm")) {
      out_.boolean("use_qkv_bias", has("blk.0.attn_q.bias"));
      out_.boolean("qk_layernorm", has("blk.0.attn_q_norm.weight"));
    }
    const auto further = integer("nextn_predict_layers");
    if (further && (is("glm4moe") || is("deepseek2"))) out_.integer("num_nextn_predict_layers", *further);
    if (is("glm4moe")) out_.boolean("use_qk_norm", has("blk.0.attn_q_norm.weight"));
    if (is("command-r")) out_.boolean("use_qk_norm", has("blk.0.attn_q_norm.weight"));
    if (is("falcon")) {
      const int64_t kv_heads = integer("attention.head_count_kv").value_or(1);
      out_.boolean("multi_query", kv_heads == 1);
      out_.boolean("new_decoder_architecture", kv_heads > 1 || has("blk.0.attn_norm_2.weight"));
    }
    if (is("deepseek2")) {
      out_.integer("num_key_value_heads", heads);
      const int64_t rope = integer("rope.dimension_count").value_or(64);
      const auto key = integer("attention.key_length_mla"), value = integer("attention.value_length_mla");
      out_.integer("qk_rope_head_dim", rope);
      out_.integer("qk_nope_head_dim", key.value_or(integer("attention.key_length").value_or(192)) - rope);
      out_.integer("v_head_dim", value.value_or(integer("attention.value_length").value_or(128)));
    } else if (const auto head_dim = integer(is("gemma4") ? "attention.key_length_swa" : "attention.key_length")) {
      out_.integer("head_dim", *head_dim);
    }
    if (is("gemma3n") || is("gemma4")) write_layer_inputs();
    if (is("llama4")) out_.boolean("use_qk_norm", integer("expert_count").value_or(0) != 128);  // as llama.cpp tells
    if (is("gemma2") || is_gemma3()) {
      // The largest of each generation scales by the hidden size instead; their layer counts tell.
      const int64_t layers = layer_count();
      const bool largest = is("gemma2") ? layers == 46 : layers == 62;
      const int64_t head_dim = integer("attention.key_length").value_or(256);
      out_.integer("query_pre_attn_scalar", largest && heads > 0 ? hidden / heads : head_dim);
    }
    const auto inner = integer("ssm.inner_size");
    if (inner && (is("jamba") || is("falcon-h1") || is_nemotron_h() || is("qwen3next"))) {
      write_mixer(*inner, hidden);
    } else if (inner && is("granitehybrid")) {
      const int64_t ssm_heads = integer("ssm.time_step_rank").value_or(0);
      out_.integer("mamba_n_heads", ssm_heads);
      if (ssm_heads > 0) out_.integer("mamba_d_head", *inner / ssm_heads);
      if (hidden > 0) out_.raw("mamba_expand", cat(static_cast<double>(*inner) / static_cast<double>(hidden)));
      const bool rotates = find("rope.scaling.finetuned") && meta_.boolean(cat(name_, ".rope.scaling.finetuned"));
      out_.text("position_embedding_type", rotates ? "rope" : "nope");
      if (integer("expert_count").value_or(0) == 0) {
        if (!find("expert_count")) out_.integer("num_local_experts", 0);
        if (!find("expert_shared_feed_forward_length")) {
          out_.integer("shared_intermediate_size", integer("feed_forward_length").value_or(0));
        }
      }
    } else if (inner) {
      const int64_t rank = integer("ssm.time_step_rank").value_or(0);
      if (is("mamba2")) {
        out_.integer("num_heads", rank);
        if (rank > 0) out_.integer("head_dim", *inner / rank);
      } else {
        out_.integer("time_step_rank", rank);
      }
      if (hidden > 0) out_.integer("expand", *inner / hidden);
      out_.integer("intermediate_size", *inner);
    }
  }

  // Recurrent mixers beside attention.
  void write_mixer(int64_t inner, int64_t hidden) {
    const int64_t rank = integer("ssm.time_step_rank").value_or(0);
    const int64_t head_dim = rank > 0 ? inner / rank : 0;
    if (is("jamba")) {
      out_.integer("mamba_dt_rank", rank);
      if (hidden > 0) out_.raw("mamba_expand", cat(static_cast<double>(inner) / static_cast<double>(hidden)));
      out_.boolean("mamba_conv_bias", some_layer_has("ssm_conv1d.bias"));
    } else if (is("falcon-h1")) {
      out_.integer("mamba_d_ssm", inner);
      out_.integer("mamba_n_heads", rank);
      out_.integer("mamba_d_head", head_dim);
      out_.boolean("mamba_rms_norm", has("blk.0.ssm_norm.weight"));
      out_.boolean("mamba_norm_before_gate", false);
      out_.integer("embedding_multiplier", 1);  // it is in the weights, as all the others
      out_.boolean("mamba_conv_bias", has("blk.0.ssm_conv1d.bias"));
    } else if (is("qwen3next")) {
      out_.integer("linear_num_value_heads", rank);
      out_.integer("linear_value_head_dim", head_dim);
      out_.boolean("linear_split_projections", !some_layer_has("ssm_in.weight"));
    } else {
      out_.integer("mamba_num_heads", rank);
      out_.integer("mamba_head_dim", head_dim);
      out_.boolean("use_conv_bias", some_layer_has("ssm_conv1d.bias"));
    }
  }

  // Layers of which some have `flags`: the period at which they come, and the first. Jamba's settings have no other
  // words for them.
  void write_rhythm(std::string_view kind, const std::vector<bool>& flags) {
    const auto layers = static_cast<int64_t>(flags.size());
    int64_t offset = layers, period = layers + 1;
    for (int64_t i = 0; i < layers; ++i) {
      if (!flags[static_cast<size_t>(i)]) continue;
      if (offset == layers) {
        offset = i;
        period = std::max(i + 1, layers - i);  // unless another follows
      } else {
        period = i - offset;
        break;
      }
    }
    for (int64_t i = 0; i < layers; ++i) {
      if (flags[static_cast<size_t>(i)] == (i % period == offset)) continue;
      throw Error(ErrorCode::kUnsupported, cat("layers of this ", name_, " with ", kind, " do not come at one period"));
    }
    out_.integer(cat(kind, "_layer_period"), period);
    out_.integer(cat(kind, "_layer_offset"), offset);
  }

  void write_layer_inputs() {
    const auto rows_of = [&](std::string_view name) {
      const TensorEntry* entry = gguf_.find(name);
      return entry && entry->shape.rank() > 0 ? entry->shape[0] : 0;
    };
    if (has("per_layer_token_embd.weight")) {
      out_.integer("vocab_size_per_layer_input", rows_of("per_layer_token_embd.weight"));
    }
    if (is("gemma3n")) {
      out_.integer("laurel_rank", rows_of("blk.0.laurel_l.weight"));
      out_.boolean("altup_correct_scale", has("blk.0.altup_correct_scale.weight"));
    } else {
      out_.boolean("enable_moe_block", has("blk.0.ffn_gate_inp.weight"));
    }
  }

  // One number, or one for each layer; empty when there is none.
  std::vector<int64_t> per_layer(std::string_view key, int64_t layers) const {
    if (is_array(key)) return integers(key);
    if (!find(key)) return {};
    return std::vector<int64_t>(static_cast<size_t>(layers), *integer(key));
  }

  std::vector<float> factors(std::string_view tensor_name) const {
    const Tensor tensor = gguf_.get(tensor_name);
    if (tensor.dtype() != DType::kF32 || tensor.rank() != 1) {
      throw Error(ErrorCode::kBadFile, cat("tensor '", tensor_name, "' is ", tensor.dtype(), " ", tensor.shape(),
                                           ", expected a list of f32"));
    }
    return {tensor.data<float>(), tensor.data<float>() + tensor.numel()};
  }

  void write_rope() {
    if (const auto theta = number("rope.freq_base")) {
      out_.number("rope_theta", *theta);
    } else if (is_gemma3() || is("gemma3n")) {
      out_.number("rope_theta", 1e6);
    }
    if (is("gemma4")) return write_gemma4_rope();
    if (is_gemma3() || is("gemma3n")) out_.number("rope_local_base_freq", number("rope.freq_base_swa").value_or(10000));
    const int64_t heads = integer("attention.head_count").value_or(0);
    const int64_t head_dim =
        integer("attention.key_length").value_or(heads > 0 ? integer("embedding_length").value_or(0) / heads : 0);
    const auto rotated = integer("rope.dimension_count");
    if (rotated && !is("deepseek2") && head_dim > 0 && *rotated < head_dim) {
      out_.raw("partial_rotary_factor", cat(static_cast<double>(*rotated) / static_cast<double>(head_dim)));
    }
    write_rope_scaling();
  }

  // Of full layers, the frequencies that do not turn are slowed down beyond all measure.
  void write_gemma4_rope() {
    Members full, local;
    double share = 1;
    if (has("rope_freqs.weight")) {
      const std::vector<float> slowed = factors("rope_freqs.weight");
      const auto turn = std::count_if(slowed.begin(), slowed.end(), [](float factor) { return factor == 1; });
      const auto stand = std::count_if(slowed.begin(), slowed.end(), [](float factor) { return factor > 1e20f; });
      if (turn == 0 || turn + stand != std::ssize(slowed) || !std::is_sorted(slowed.begin(), slowed.end())) {
        throw Error(ErrorCode::kUnsupported,
                    "tensor 'rope_freqs.weight' of a gemma4 has factors other than 1 and 1e30");
      }
      share = static_cast<double>(turn) / static_cast<double>(slowed.size());
    }
    full.text("rope_type", "proportional");
    full.raw("partial_rotary_factor", cat(share));
    full.number("rope_theta", number("rope.freq_base").value_or(1e6));
    local.text("rope_type", "default");
    local.number("rope_theta", number("rope.freq_base_swa").value_or(10000));
    const auto rotated = integer("rope.dimension_count_swa"), head_dim = integer("attention.key_length_swa");
    if (rotated && head_dim && *head_dim > 0 && *rotated < *head_dim) {
      local.raw("partial_rotary_factor", cat(static_cast<double>(*rotated) / static_cast<double>(*head_dim)));
    }
    Members both;
    both.raw("full_attention", full.object());
    both.raw("sliding_attention", local.object());
    out_.raw("rope_parameters", both.object());
  }

  void write_rope_scaling() {
    Members scaling;
    const auto context = integer("rope.scaling.original_context_length");
    if (has("rope_factors_long.weight") && has("rope_factors_short.weight")) {
      scaling.text("rope_type", "longrope");
      scaling.raw("long_factor", number_list(factors("rope_factors_long.weight")));
      scaling.raw("short_factor", number_list(factors("rope_factors_short.weight")));
      if (const auto factor = number("rope.scaling.attn_factor")) scaling.number("attention_factor", *factor);
      if (context) out_.integer("original_max_position_embeddings", *context);
    } else if (has("rope_freqs.weight")) {
      // The factors of llama3 scaling, one per frequency: longrope that is the same at every length.
      const std::string list = number_list(factors("rope_freqs.weight"));
      scaling.text("rope_type", "longrope");
      scaling.raw("long_factor", list);
      scaling.raw("short_factor", list);
      scaling.number("attention_factor", 1);
    } else if (meta_.find(cat(name_, ".rope.scaling.type"))) {
      const std::string& type = meta_.text(cat(name_, ".rope.scaling.type"));
      if (type == "none" || !find("rope.scaling.factor")) return;
      scaling.text("rope_type", type == "yarn" ? "yarn" : "linear");
      scaling.number("factor", *number("rope.scaling.factor"));
      constexpr std::pair<std::string_view, std::string_view> kYarn[] = {
          {"rope.scaling.yarn_attn_factor", "attention_factor"},
          {"rope.scaling.yarn_beta_fast", "beta_fast"},
          {"rope.scaling.yarn_beta_slow", "beta_slow"},
      };
      for (const auto& [key, hf] : kYarn) {
        if (const auto value = number(key)) scaling.number(hf, *value);
      }
      if (is("deepseek2") && find("rope.scaling.yarn_log_multiplier")) {
        const double all = *number("rope.scaling.yarn_log_multiplier") / 0.1;
        scaling.number("mscale", all);
        scaling.number("mscale_all_dim", all);
      }
    } else {
      return;
    }
    if (context) scaling.integer("original_max_position_embeddings", *context);
    out_.raw("rope_scaling", scaling.object());
  }

  // layer_types and the like: one entry per layer.
  void write_layers() {
    const int64_t layers = layer_count();
    if (layers <= 0 || layers > 10000) return;
    const auto list = [&](std::string_view name, auto entry) {
      std::string out = "[";
      for (int64_t i = 0; i < layers; ++i) out += cat(i ? ", " : "", entry(i));
      out_.raw(name, out + "]");
    };
    constexpr std::string_view kFull = "\"full_attention\"", kSliding = "\"sliding_attention\"", kConv = "\"conv\"",
                               kLinear = "\"linear_attention\"";
    const std::string_view pattern = "attention.sliding_window_pattern";
    if (is_array(pattern)) {
      const auto sliding = integers(pattern);
      list("layer_types",
           [&](int64_t i) { return i < static_cast<int64_t>(sliding.size()) && sliding[i] ? kSliding : kFull; });
    } else if (const int64_t period = integer(pattern).value_or(window_period(name_)); period > 0) {
      list("layer_types", [&](int64_t i) { return (i + 1) % period == 0 ? kFull : kSliding; });
    }
    if (is("gemma4")) return write_gemma4_layers(layers);
    if (is("jamba") || is_nemotron_h()) return write_mixed_layers(layers);
    if (is("qwen3next") && is_array("attention.recurrent_layers")) {
      const auto recurrent = integers("attention.recurrent_layers");
      list("layer_types",
           [&](int64_t i) { return i < std::ssize(recurrent) && recurrent[static_cast<size_t>(i)] ? kLinear : kFull; });
    }
    if (is_array("feed_forward_length")) {
      const auto sizes = integers("feed_forward_length");
      list("intermediate_size", [&](int64_t i) { return i < std::ssize(sizes) ? sizes[static_cast<size_t>(i)] : 0; });
    }
    if (const std::string key = cat(name_, ".activation_sparsity_scale"); is("gemma3n") && meta_.find(key)) {
      const std::vector<double> deviations = meta_.array(key).numbers(key);
      list("activation_sparsity_pattern", [&](int64_t i) {
        return i < std::ssize(deviations) ? cat(normal_share_below(deviations[static_cast<size_t>(i)]))
                                          : std::string("0");
      });
    }
    if (is_array("attention.head_count_kv")) {
      const auto kv_heads = integers("attention.head_count_kv");
      int64_t most = 0;
      for (const int64_t count : kv_heads) most = std::max(most, count);
      out_.integer("num_key_value_heads", most);
      if (is("lfm2") || is("lfm2moe") || is("granitehybrid")) {
        const std::string_view other = is("granitehybrid") ? kLinear : kConv;
        list("layer_types",
             [&](int64_t i) { return i < static_cast<int64_t>(kv_heads.size()) && kv_heads[i] ? kFull : other; });
      }
    }
    if (is("smollm3")) {
      const bool given = is_array("attention.rope_pattern");
      const auto rope = given ? integers("attention.rope_pattern") : std::vector<int64_t>();
      list("no_rope_layers", [&](int64_t i) {
        return given ? (i < static_cast<int64_t>(rope.size()) && rope[i] ? 1 : 0) : ((i + 1) % 4 == 0 ? 0 : 1);
      });
    }
  }

  // What each layer is shows in how many key heads it has, and how wide its MLP is.
  void write_mixed_layers(int64_t layers) {
    const auto kv_heads = per_layer("attention.head_count_kv", layers),
               sizes = per_layer("feed_forward_length", layers);
    const auto entry = [](const std::vector<int64_t>& list, int64_t i) {
      return i < std::ssize(list) ? list[static_cast<size_t>(i)] : 0;
    };
    int64_t most_heads = 0, widest = 0;
    std::vector<bool> attends, has_experts;
    std::string kinds;
    for (int64_t i = 0; i < layers; ++i) {
      most_heads = std::max(most_heads, entry(kv_heads, i));
      widest = std::max(widest, entry(sizes, i));
      attends.push_back(entry(kv_heads, i) > 0);
      has_experts.push_back(has(cat("blk.", i, ".ffn_gate_inp.weight")));
      const std::string_view mlp = has_experts.back() ? "moe" : "mlp";
      const std::string_view kind = entry(sizes, i) > 0 ? mlp : attends.back() ? "full_attention" : "linear_attention";
      kinds += cat(i ? ", " : "", "\"", kind, "\"");
    }
    if (is_array("attention.head_count_kv")) out_.integer("num_key_value_heads", most_heads);
    if (is("jamba")) {
      write_rhythm("attn", attends);
      write_rhythm("expert", has_experts);
      return;
    }
    out_.raw("layers_block_type", cat("[", kinds, "]"));
    if (is_array("feed_forward_length")) out_.integer("intermediate_size", widest);
  }

  // Layers that see everything have heads of a size of their own, perhaps fewer key heads, and perhaps no values.
  void write_gemma4_layers(int64_t layers) {
    const auto sliding = per_layer("attention.sliding_window_pattern", layers);
    const auto kv_heads = per_layer("attention.head_count_kv", layers),
               sizes = per_layer("feed_forward_length", layers);
    const auto entry = [](const std::vector<int64_t>& list, int64_t i) {
      return i < std::ssize(list) ? list[static_cast<size_t>(i)] : 0;
    };
    const int64_t full_head_dim = integer("attention.key_length").value_or(512);
    std::string own, inner = "[";
    bool keys_are_values = false;
    int64_t local_kv_heads = 0;
    for (int64_t i = 0; i < layers; ++i) {
      inner += cat(i ? ", " : "", entry(sizes, i));
      if (is_array("attention.sliding_window_pattern") ? entry(sliding, i) != 0 : (i + 1) % 6 != 0) {
        local_kv_heads = entry(kv_heads, i);
        continue;
      }
      own += cat(own.empty() ? "" : ", ", "\"", i, "\": {\"head_dim\": ", full_head_dim,
                 ", \"num_key_value_heads\": ", entry(kv_heads, i), "}");
      keys_are_values |= has(cat("blk.", i, ".attn_k.weight")) && !has(cat("blk.", i, ".attn_v.weight"));
    }
    out_.raw("per_layer_config", cat("{", own, "}"));
    out_.boolean("attention_k_eq_v", keys_are_values);
    if (is_array("attention.head_count_kv")) {
      out_.integer("num_key_value_heads", local_kv_heads > 0 ? local_kv_heads : entry(kv_heads, 0));
    }
    if (is_array("feed_forward_length")) out_.raw("intermediate_size", inner + "]");
  }

  bool is_gemma3() const { return is("gemma3") || is("gemma-embedding"); }
  bool is_t5() const { return is("t5") || is("t5encoder"); }

  // What of an encoder shows in its tensors, or is not said because all are alike.
  void write_encoder() {
    if (is("bert") || is("nomic-bert") || is("jina-bert-v2")) {
      const TensorEntry* types = gguf_.find("token_types.weight");
      if (types && types->shape.rank() == 2) out_.integer("type_vocab_size", types->shape[0]);
      if (find("attention.causal")) out_.boolean("is_decoder", meta_.boolean(cat(name_, ".attention.causal")));
      if (is("nomic-bert")) {
        out_.boolean("qkv_proj_bias", has("blk.0.attn_qkv.bias"));
        out_.boolean("mlp_fc1_bias", has("blk.0.ffn_up.bias"));
        out_.boolean("mlp_fc2_bias", has("blk.0.ffn_down.bias"));
      }
      const bool is_other = has("blk.0.attn_qkv.weight") || has("blk.0.ffn_gate.weight");
      const bool has_norms = has("blk.0.attn_q_norm.weight") || has("blk.0.attn_norm_2.weight");
      if ((is("bert") && is_other) || has_norms || has("blk.0.ffn_gate_inp.weight") ||
          has("blk.1.ffn_gate_inp.weight")) {
        throw Error(
            ErrorCode::kUnsupported,
            cat("this '", name_, "' has fused, gated or expert layers, or norms, that Wick does not know of one"));
      }
    }
    if (!is_t5()) return;
    constexpr std::pair<std::string_view, std::string_view> kSizes[] = {
        {"decoder_block_count", "num_decoder_layers"},
        {"attention.key_length", "d_kv"},
        {"attention.relative_buckets_count", "relative_attention_num_buckets"},
        {"decoder_start_token_id", "decoder_start_token_id"},
    };
    for (const auto& [key, hf] : kSizes) {
      if (const auto value = integer(key)) out_.integer(hf, *value);
    }
    out_.text("feed_forward_proj", has("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu");
  }

  void write_tokens() {
    constexpr std::pair<std::string_view, std::string_view> kTokens[] = {
        {"tokenizer.ggml.bos_token_id", "bos_token_id"},
        {"tokenizer.ggml.eos_token_id", "eos_token_id"},
        {"tokenizer.ggml.padding_token_id", "pad_token_id"},
    };
    for (const auto& [key, hf] : kTokens) {
      if (meta_.find(key)) out_.integer(hf, meta_.integer(key));
    }
  }

  const Checkpoint& gguf_;
  const Metadata& meta_;
  std::string name_;
  const Architecture* known_ = nullptr;
  Members out_;
};

}  // namespace

Json config_from_gguf(const Checkpoint& gguf) { return Reader(gguf).read(); }

}  // namespace wick
