#include "models/auto_config.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/families/families.h"

namespace wick {
namespace {

using Candidates = std::initializer_list<std::string_view>;

// What parts of a layer are called in one family or another.
const Candidates kQuery = {"self_attn.q_proj", "attn.q_proj", "attention.q_proj", "self_attention.q_proj",
                           "attention.wq"};
const Candidates kKey = {"self_attn.k_proj", "attn.k_proj", "attention.k_proj", "self_attention.k_proj",
                         "attention.wk"};
const Candidates kValue = {"self_attn.v_proj", "attn.v_proj", "attention.v_proj", "self_attention.v_proj",
                           "attention.wv"};
const Candidates kOutput = {"self_attn.o_proj", "self_attn.out_proj",   "self_attn.dense",
                            "attn.o_proj",      "attn.c_proj",          "attn.out_proj",
                            "attention.dense",  "self_attention.dense", "attention.wo"};
const Candidates kGate = {"mlp.gate_proj", "feed_forward.w1", "mlp.w1", "mlp.gate"};
const Candidates kUp = {"mlp.up_proj", "mlp.fc1",         "mlp.c_fc", "mlp.dense_h_to_4h",
                        "mlp.fc_in",   "feed_forward.w3", "mlp.w3"};
const Candidates kDown = {"mlp.down_proj", "mlp.fc2",         "mlp.c_proj", "mlp.dense_4h_to_h",
                          "mlp.fc_out",    "feed_forward.w2", "mlp.w2"};
const Candidates kFirstNorm = {"input_layernorm", "ln_1", "ln1", "attention_norm", "ln_attn", "operator_norm", "norm1"};
const Candidates kSecondNorm = {
    "pre_feedforward_layernorm", "post_attention_layernorm", "ln_2", "ln2", "ffn_norm", "ln_mlp", "norm2"};
const Candidates kQueryNorm = {"self_attn.q_norm", "self_attn.q_layernorm", "attn.q_norm"};
const Candidates kKeyNorm = {"self_attn.k_norm", "self_attn.k_layernorm", "attn.k_norm"};
const Candidates kRouter = {"mlp.gate", "block_sparse_moe.gate", "mlp.router"};
const Candidates kEmbedding = {"embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings", "embeddings"};
const Candidates kFinalNorm = {"norm", "ln_f", "final_layernorm", "final_layer_norm", "final_norm", "ln_final"};
const Candidates kHead = {"lm_head", "embed_out", "output", "head"};

// Settings whose meaning shows in the tensors that are there.
const Candidates kSeen = {"use_bias",
                          "use_qkv_bias",
                          "qkv_bias",
                          "attention_bias",
                          "mlp_bias",
                          "attention_out_bias",
                          "add_bias_linear",
                          "lm_head_bias",
                          "bias",
                          "no_bias",
                          "enable_bias",
                          "tie_word_embeddings",
                          "mlp_only_layers",
                          "decoder_sparse_step",
                          "moe_layers",
                          "first_k_dense_replace"};

class Inference {
 public:
  Inference(const ConfigReader& config, const WeightSource& source) : config_(config), source_(source) {
    for (const std::string& name : source.names()) names_.insert(name);
  }

  DecoderConfig run() {
    decoder_ = llama_config(config_);
    find_layers();
    find_outside();
    find_norms();
    find_attention();
    find_mlp();
    find_windows();
    for (const std::string_view name : kSeen) config_.has(name);
    return decoder_;
  }

 private:
  Error unknown(const std::string& what) const {
    const std::string type = config_.text("model_type", "");
    return {ErrorCode::kUnsupported, cat("the model_type '", type, "' is not known, and ", what)};
  }

  bool has(const std::string& name) const { return source_.has(name); }
  bool in_layer(std::string_view name) const { return has(cat(layer_, name)); }
  // The first candidate whose weight is in the layer; empty when none is.
  std::string pick(Candidates candidates) const {
    for (const std::string_view name : candidates) {
      if (in_layer(cat(name, ".weight"))) return std::string(name);
    }
    return {};
  }
  std::string need(Candidates candidates, std::string_view role) const {
    std::string found = pick(candidates);
    if (!found.empty()) return found;
    std::string there;
    for (const std::string& name : names_) {
      if (name.starts_with(layer_) && there.size() < 300)
        there += cat(there.empty() ? "" : ", ", name.substr(layer_.size()));
    }
    throw unknown(cat("no tensor of layer 0 looks like the ", role, "; there are ", there));
  }
  Shape shape_of(const std::string& name) const { return source_.get(name).weight.shape(); }

  // The longest list of numbered names is where the layers are.
  void find_layers() {
    std::map<std::string, int> counts;
    for (const std::string& name : names_) {
      const size_t zero = name.find(".0.");
      if (zero != std::string::npos) ++counts[name.substr(0, zero + 1)];
    }
    int most = 0;
    for (const auto& [prefix, count] : counts) {
      if (count <= most || !has_attention(prefix + "0.")) continue;
      most = count;
      decoder_.names.layers = prefix;
    }
    if (most == 0) throw unknown("no numbered layers with attention were found among its tensors");
    layer_ = decoder_.names.layers + "0.";
  }
  bool has_attention(const std::string& layer) const {
    return std::any_of(kQuery.begin(), kQuery.end(),
                       [&](std::string_view name) { return has(cat(layer, name, ".weight")); });
  }

  std::string pick_outside(Candidates candidates) const {
    const std::string& layers = decoder_.names.layers;
    std::vector<std::string> prefixes = {""};
    for (size_t dot = layers.find('.'); dot != std::string::npos; dot = layers.find('.', dot + 1)) {
      prefixes.push_back(layers.substr(0, dot + 1));
    }
    std::reverse(prefixes.begin(), prefixes.end());
    for (const std::string& prefix : prefixes) {
      for (const std::string_view name : candidates) {
        if (has(cat(prefix, name, ".weight"))) return cat(prefix, name);
      }
    }
    return {};
  }
  void find_outside() {
    DecoderNames& names = decoder_.names;
    names.embed = pick_outside(kEmbedding);
    if (names.embed.empty()) throw unknown("no tensor looks like the embedding");
    names.final_norm = pick_outside(kFinalNorm);
    names.positions = pick_outside({"wpe", "embed_positions"});
    names.head = pick_outside(kHead);
    decoder_.tied = names.head.empty();
    decoder_.head_bias = !decoder_.tied && has(names.head + ".bias");
    if (!names.positions.empty()) {
      decoder_.ropes.clear();
      for (LayerKind& kind : decoder_.kinds) kind.rope = -1;
    } else if (!config_.has("rope_theta") && !config_.has("rope_parameters") && !config_.has("rope_scaling")) {
      throw unknown("its config.json does not say how it encodes positions: there is no rope_theta");
    }
    // Some rotate neighbouring components, others halves of a head.
    if (config_.has("rotary_dim")) throw unknown("which components its rotary_dim turns together is not said");
  }

  void find_norms() {
    DecoderNames& names = decoder_.names;
    names.attn_norm = pick(kFirstNorm);
    names.mlp_norm = pick(kSecondNorm);
    const bool sandwich = in_layer("pre_feedforward_layernorm.weight");
    const bool behind = in_layer("post_feedforward_layernorm.weight");
    if (behind) {
      names.attn_post_norm = "post_attention_layernorm";
      names.mlp_post_norm = "post_feedforward_layernorm";
      names.mlp_norm = sandwich ? "pre_feedforward_layernorm" : "";
    }
    decoder_.parallel = config_.flag("use_parallel_residual", config_.flag("parallel_attn", false)) ||
                        (!names.attn_norm.empty() && names.mlp_norm.empty() && !behind);
    if (names.attn_norm.empty() && !behind) throw unknown("no tensor of layer 0 looks like its first norm");
    const bool bias = in_layer(names.attn_norm + ".bias");
    if (bias || (!config_.has("rms_norm_eps") && config_.has("layer_norm_eps"))) {
      // LayerNorm under other keys is also of another kind, such as Nemotron's around 1.
      if (!config_.has("layer_norm_eps")) throw unknown("its LayerNorm has no layer_norm_eps");
      use_layer_norm(config_, decoder_);
      decoder_.norm_bias = bias;
    }
    // With RMS norms, GLM rotates neighbouring components and Phi the halves of what is rotated.
    const bool is_partial = !decoder_.ropes.empty() && decoder_.ropes.front().dim != decoder_.head_dim;
    if (is_partial && decoder_.norm == NormKind::kRms) {
      throw unknown("which components its partial_rotary_factor turns together is not said");
    }
    // Gemma's spelling, whose norms are around 1.
    if (config_.json().find("hidden_activation")) throw unknown("its hidden_activation is one of Gemma's settings");
  }

  void find_attention() {
    DecoderNames& names = decoder_.names;
    names.q = need(kQuery, "query projection");
    names.k = need(kKey, "key projection");
    names.v = need(kValue, "value projection");
    names.o = need(kOutput, "attention's output projection");
    decoder_.attention_bias = in_layer(names.q + ".bias");
    decoder_.output_bias = in_layer(names.o + ".bias");
    decoder_.sinks = in_layer("self_attn.sinks");
    names.q_norm = pick(kQueryNorm);
    names.k_norm = pick(kKeyNorm);
    if (!names.q_norm.empty()) {
      for (const std::string_view name : {"use_qk_norm", "qk_norm", "qk_layernorm"}) config_.has(name);
      const int64_t size = shape_of(cat(layer_, names.q_norm, ".weight")).numel();
      decoder_.qk_norm = size == decoder_.head_dim ? QkNorm::kPerHead : QkNorm::kWholeRow;
      if (in_layer(names.q_norm + ".bias")) decoder_.qk_norm_kind = NormKind::kLayer;
    }
    // Sizes that config.json does not give follow from the projections.
    const int64_t width = shape_of(cat(layer_, names.q, ".weight"))[0];
    if (!config_.has("head_dim") && decoder_.heads > 0 && width % decoder_.heads == 0) {
      const int64_t head_dim = width / decoder_.heads;
      if (head_dim != decoder_.head_dim && !decoder_.ropes.empty()) {
        decoder_.ropes = {read_rope(config_, head_dim, decoder_.max_positions)};
      }
      decoder_.head_dim = head_dim;
    }
  }

  void find_mlp() {
    DecoderNames& names = decoder_.names;
    if (in_layer("mlp.experts.0.up_proj.weight")) {
      names.router = need(kRouter, "router of the experts");
      if (!config_.has("norm_topk_prob")) throw unknown("there is no norm_topk_prob for its experts");
      decoder_.moe = read_experts(config_, decoder_, true);
      for (int64_t i = 0; i < static_cast<int64_t>(decoder_.kinds.size()); ++i) {
        decoder_.kinds[static_cast<size_t>(i)].sparse = has(cat(names.layers, i, ".mlp.experts.0.up_proj.weight"));
      }
    } else {
      names.gate = pick(kGate);
      names.up = need(kUp, "MLP's way up");
      names.down = need(kDown, "MLP's way down");
      decoder_.gated = !names.gate.empty();
      decoder_.mlp_bias = in_layer(names.up + ".bias");
      decoder_.transposed = names.down == "mlp.c_proj" && decoder_.intermediate != decoder_.hidden &&
                            shape_of(cat(layer_, "mlp.c_proj.weight"))[0] == decoder_.intermediate;
    }
    if (!config_.has("hidden_act")) {
      decoder_.activation = decoder_.gated ? Activation::kSilu : Activation::kGelu;
    }
  }

  void find_windows() {
    for (const std::string& type : config_.texts("layer_types")) {
      if (type != "full_attention" && type != "sliding_attention") {
        throw unknown(cat("its layer_types has ", in_quotes(type)));
      }
    }
    if (config_.integer("sliding_window", 0) == 0) return;
    const bool is_said = config_.has("layer_types") || config_.has("use_sliding_window");
    if (!is_said) throw unknown("which layers have its sliding_window is not said");
    if (config_.flag("use_sliding_window", true)) read_windows(config_, decoder_);
  }

  const ConfigReader& config_;
  const WeightSource& source_;
  std::set<std::string> names_;
  DecoderConfig decoder_;
  std::string layer_;
};

}  // namespace

DecoderConfig infer_decoder_config(const ConfigReader& config, const WeightSource& source) {
  return Inference(config, source).run();
}

}  // namespace wick
