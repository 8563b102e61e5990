#include "models/encoders/encoder_config.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/config_check.h"
#include "models/encoders/both_ways.h"
#include "models/families/families.h"
#include "models/read_count.h"

namespace wick {
namespace {

void set_bert_names(EncoderNames& names) {
  names.tokens = "embeddings.word_embeddings";
  names.positions = "embeddings.position_embeddings";
  names.types = "embeddings.token_type_embeddings";
  names.embedding_norm = "embeddings.LayerNorm";
  names.layers = "encoder.layer.";
  names.q = "attention.self.query";
  names.k = "attention.self.key";
  names.v = "attention.self.value";
  names.out = "attention.output.dense";
  names.attn_norm = "attention.output.LayerNorm";
  names.up = "intermediate.dense";
  names.down = "output.dense";
  names.mlp_norm = "output.LayerNorm";
  names.pooler = "pooler.dense";
}

// Jina's second generation: BERT with ALiBi to both sides and a gate.
void become_jina(const ConfigReader& config, EncoderConfig& encoder) {
  const std::string kind = config.text("feed_forward_type", "original");
  if (kind != "geglu" && kind != "reglu") {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: feed_forward_type = '", kind, "' beside ALiBi, expected geglu or reglu"));
  }
  encoder.activation = kind == "geglu" ? Activation::kGelu : Activation::kRelu;
  encoder.learns_positions = false;
  encoder.alibi_slopes = alibi_slopes(encoder.heads);
  encoder.mlp_bias = false;
  encoder.down_bias = true;
  EncoderNames& names = encoder.names;
  names.positions = "";
  names.gate = "mlp.gate_layers";  // halves of gated_layers in Hugging Face's files
  names.up = "mlp.up_layers";
  names.down = "mlp.wo";
  names.mlp_norm = "mlp.layernorm";
}

EncoderConfig bert(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.layers = read_count(config, "num_hidden_layers", 4096);
  encoder.hidden = read_count(config, "hidden_size");
  encoder.heads = read_count(config, "num_attention_heads");
  encoder.intermediate = read_count(config, "intermediate_size", int64_t{1} << 20);
  encoder.positions = read_count(config, "max_position_embeddings", int64_t{1} << 20);
  encoder.types = read_count(config, "type_vocab_size");
  encoder.eps = static_cast<float>(config.number("layer_norm_eps", 1e-12));
  encoder.activation = activation_named(config.text("hidden_act", "gelu"));
  const std::string positions = config.text("position_embedding_type", "absolute");
  if (positions != "absolute" && positions != "alibi") {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: position_embedding_type = '", positions, "', expected absolute or alibi"));
  }
  if (config.flag("is_decoder", false)) {
    throw Error(ErrorCode::kUnsupported, "config.json: is_decoder = true, and it is read as an encoder only");
  }
  set_bert_names(encoder.names);
  if (positions == "alibi") become_jina(config, encoder);
  return encoder;
}

EncoderConfig roberta(const ConfigReader& config) {
  EncoderConfig encoder = bert(config);
  encoder.first_position = config.integer("pad_token_id", 1) + 1;
  if (encoder.first_position < 0 || encoder.first_position >= encoder.positions) {
    throw bad_setting(
        cat("pad_token_id = ", encoder.first_position - 1, ", which leaves none of ", encoder.positions, " positions"));
  }
  encoder.positions -= encoder.first_position;
  return encoder;
}

EncoderConfig distilbert(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.layers = read_count(config, "n_layers", 4096);
  encoder.hidden = read_count(config, "dim");
  encoder.heads = read_count(config, "n_heads");
  encoder.intermediate = read_count(config, "hidden_dim", int64_t{1} << 20);
  encoder.positions = read_count(config, "max_position_embeddings", int64_t{1} << 20);
  encoder.activation = activation_named(config.text("activation", "gelu"));
  set_bert_names(encoder.names);
  EncoderNames& names = encoder.names;
  names.types = names.pooler = "";
  names.layers = "transformer.layer.";
  names.q = "attention.q_lin";
  names.k = "attention.k_lin";
  names.v = "attention.v_lin";
  names.out = "attention.out_lin";
  names.attn_norm = "sa_layer_norm";
  names.up = "ffn.lin1";
  names.down = "ffn.lin2";
  names.mlp_norm = "output_layer_norm";
  return encoder;
}

// Which layers see everything: listed, or every so many.
std::vector<bool> global_layers(const ConfigReader& config, int64_t layers) {
  const std::vector<std::string> types = config.texts("layer_types");
  const int64_t every = config.integer("global_attn_every_n_layers", 3);
  if (!types.empty() && std::ssize(types) != layers) {
    throw bad_setting(cat("layer_types names ", types.size(), " layers, num_hidden_layers is ", layers));
  }
  if (every < 1) throw bad_setting(cat("global_attn_every_n_layers = ", every, ", expected 1 or more"));
  std::vector<bool> global;
  for (int64_t i = 0; i < layers; ++i) {
    if (types.empty()) {
      global.push_back(i % every == 0);
      continue;
    }
    const std::string& type = types[static_cast<size_t>(i)];
    if (type != "full_attention" && type != "sliding_attention") {
      throw Error(ErrorCode::kUnsupported, cat("config.json: layer_types[", i, "] = '", type,
                                               "', expected full_attention or sliding_attention"));
    }
    global.push_back(type == "full_attention");
  }
  return global;
}

EncoderConfig modernbert(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.layers = read_count(config, "num_hidden_layers", 4096);
  encoder.hidden = read_count(config, "hidden_size");
  encoder.heads = read_count(config, "num_attention_heads");
  encoder.intermediate = read_count(config, "intermediate_size", int64_t{1} << 20);
  encoder.positions = read_count(config, "max_position_embeddings", int64_t{1} << 20);
  encoder.eps = static_cast<float>(config.number("norm_eps", 1e-5));
  encoder.activation = activation_named(config.text("hidden_activation", "gelu"));
  encoder.learns_positions = encoder.norms_sums = encoder.first_attn_norm = false;
  encoder.attention_bias = config.flag("attention_bias", false);
  encoder.mlp_bias = config.flag("mlp_bias", false);
  encoder.norm_bias = config.flag("norm_bias", false);
  const int64_t window = config.integer("local_attention", 128) / 2;
  if (window < 1) throw bad_setting(cat("local_attention = ", 2 * window, ", expected 2 or more"));
  if (encoder.hidden % encoder.heads != 0) {
    throw bad_setting(
        cat("hidden_size = ", encoder.hidden, ", which does not divide by num_attention_heads = ", encoder.heads));
  }
  for (const bool is_global : global_layers(config, encoder.layers)) {
    encoder.windows.push_back(is_global ? 0 : window);
    const double theta =
        is_global ? config.number("global_rope_theta", 160000) : config.number("local_rope_theta", 10000);
    encoder.ropes.push_back(read_rope(config, encoder.hidden / encoder.heads, encoder.positions, theta,
                                      is_global ? "full_attention" : "sliding_attention"));
  }
  EncoderNames& names = encoder.names;
  names.tokens = "embeddings.tok_embeddings";
  names.embedding_norm = "embeddings.norm";
  names.layers = "layers.";
  names.attn_norm = "attn_norm";
  names.qkv = "attn.Wqkv";
  names.out = "attn.Wo";
  names.mlp_norm = "mlp_norm";
  names.gate_up = "mlp.Wi";
  names.down = "mlp.Wo";
  names.final_norm = "final_norm";
  return encoder;
}

// T5's encoder, also of files that hold the decoder.
EncoderConfig t5(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.layers = read_count(config, "num_layers", 4096);
  encoder.hidden = read_count(config, "d_model");
  encoder.heads = read_count(config, "num_heads");
  encoder.head_dim = read_count(config, "d_kv");
  encoder.intermediate = read_count(config, "d_ff", int64_t{1} << 20);
  encoder.positions = config.integer("n_positions", 512);  // it has been trained with; there is no table
  if (encoder.positions < 1) throw bad_setting(cat("n_positions = ", encoder.positions, ", expected 1 or more"));
  encoder.eps = static_cast<float>(config.number("layer_norm_epsilon", 1e-6));
  encoder.norm = NormKind::kRms;
  encoder.norms_sums = encoder.learns_positions = false;
  encoder.score_scale = 1.f;
  encoder.attention_bias = encoder.mlp_bias = encoder.norm_bias = false;
  encoder.relative_buckets = config.integer("relative_attention_num_buckets", 32);
  encoder.relative_distance = config.integer("relative_attention_max_distance", 128);
  encoder.own_relative = config.text("model_type", "") == "umt5";
  if (encoder.relative_buckets < 4 || encoder.relative_buckets > 1 << 16 ||
      encoder.relative_distance <= encoder.relative_buckets / 4 || encoder.relative_distance > 1 << 20) {
    throw bad_setting(cat("relative_attention_num_buckets = ", encoder.relative_buckets,
                          " and relative_attention_max_distance = ", encoder.relative_distance));
  }
  EncoderNames& names = encoder.names;
  const std::string kind = config.text("feed_forward_proj", "relu");
  const bool is_gated = kind.starts_with("gated-");
  const std::string activation = is_gated ? kind.substr(6) : kind;
  // T5's "gated-gelu" is the approximation by tanh.
  encoder.activation = activation_named(is_gated && activation == "gelu" ? "gelu_new" : activation);
  names.tokens = "shared";
  names.layers = "encoder.block.";
  names.attn_norm = "layer.0.layer_norm";
  names.q = "layer.0.SelfAttention.q";
  names.k = "layer.0.SelfAttention.k";
  names.v = "layer.0.SelfAttention.v";
  names.out = "layer.0.SelfAttention.o";
  names.relative = "layer.0.SelfAttention.relative_attention_bias";
  names.mlp_norm = "layer.1.layer_norm";
  names.gate = is_gated ? "layer.1.DenseReluDense.wi_0" : "";
  names.up = is_gated ? "layer.1.DenseReluDense.wi_1" : "layer.1.DenseReluDense.wi";
  names.down = "layer.1.DenseReluDense.wo";
  names.final_norm = "encoder.final_layer_norm";
  return encoder;
}

// A flag or a number that is only known to be as it usually is.
void expect_usual(const ConfigReader& config, std::string_view name, double usual) {
  const Json* value = config.find(name);
  if (!value) return;
  const bool is_usual =
      value->is_bool() ? value->as_bool() == (usual != 0) : value->is_number() && value->as_number() == usual;
  if (is_usual) return;
  throw Error(ErrorCode::kUnsupported, cat(value->place(), " is not ", usual, ", and nothing else is known of a '",
                                           config.text("model_type", ""), "'"));
}

std::vector<RopeConfig> same_ropes(const ConfigReader& config, const EncoderConfig& encoder, double theta) {
  if (encoder.hidden % encoder.heads != 0) {
    throw bad_setting(cat("the width ", encoder.hidden, " does not divide by ", encoder.heads, " heads"));
  }
  const RopeConfig rope = read_rope(config, encoder.hidden / encoder.heads, encoder.positions, theta);
  return std::vector<RopeConfig>(static_cast<size_t>(encoder.layers), rope);
}

// BERT with rotated positions and a gate.
EncoderConfig nomic_bert(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.layers = read_count(config, "num_hidden_layers", 4096);
  encoder.hidden = read_count(config, "hidden_size");
  encoder.heads = read_count(config, "num_attention_heads");
  encoder.intermediate = read_count(config, "intermediate_size", int64_t{1} << 20);
  encoder.positions = read_count(config, "max_position_embeddings", int64_t{1} << 20);
  // Behind these, angles are stretched in a way of its own.
  if (config.has("max_trained_positions")) {
    encoder.positions = std::min(encoder.positions, read_count(config, "max_trained_positions", int64_t{1} << 20));
  }
  encoder.types = config.integer("type_vocab_size", 0);
  encoder.eps = static_cast<float>(config.number("layer_norm_eps", 1e-12));
  const std::string activation = config.text("activation_function", "swiglu");
  if (activation != "swiglu") {
    throw Error(ErrorCode::kUnsupported, cat("config.json: activation_function = '", activation, "', expected swiglu"));
  }
  encoder.activation = Activation::kSilu;
  for (const char* name : {"prenorm", "causal", "is_decoder", "parallel_block", "use_rms_norm", "moe_every_n_layers",
                           "rotary_emb_interleaved", "num_experts"}) {
    expect_usual(config, name, 0);
  }
  expect_usual(config, "rotary_emb_fraction", 1);
  encoder.learns_positions = false;
  encoder.attention_bias = config.flag("qkv_proj_bias", true);
  encoder.mlp_bias = config.flag("mlp_fc1_bias", true);
  if (config.flag("mlp_fc2_bias", true) != encoder.mlp_bias) {
    throw Error(ErrorCode::kUnsupported, "config.json: mlp_fc1_bias and mlp_fc2_bias are not the same");
  }
  encoder.ropes = same_ropes(config, encoder, config.number("rotary_emb_base", 10000));
  EncoderNames& names = encoder.names;
  names.tokens = "embeddings.word_embeddings";
  names.types = encoder.types > 0 ? "embeddings.token_type_embeddings" : "";
  names.embedding_norm = "emb_ln";
  names.layers = "encoder.layers.";
  names.qkv = "attn.Wqkv";
  names.out = "attn.out_proj";
  names.attn_norm = "norm1";
  names.gate = "mlp.fc12";
  names.up = "mlp.fc11";
  names.down = "mlp.fc2";
  names.mlp_norm = "norm2";
  return encoder;
}

// Scaled by "ntk": waves are those of a larger base, and all of them a little longer.
RopeConfig gte_rope(const ConfigReader& config, const EncoderConfig& encoder) {
  const Json* scaling = config.find("rope_scaling");
  const Json* kind = scaling ? config.member(*scaling, "type") : nullptr;
  if (scaling && !kind) kind = config.member(*scaling, "rope_type");
  if (!kind || kind->as_text() != "ntk") return same_ropes(config, encoder, 10000).front();
  if (encoder.hidden % encoder.heads != 0) {
    throw bad_setting(cat("the width ", encoder.hidden, " does not divide by ", encoder.heads, " heads"));
  }
  if (const Json* mixed = config.member(*scaling, "mixed_b")) {
    throw Error(ErrorCode::kUnsupported, cat(mixed->place(), " is there, and is not supported"));
  }
  const Json* given = config.member(*scaling, "factor");
  const double factor = given ? given->as_number() : 1;
  if (!(factor >= 1 && factor <= 1e6)) throw bad_setting(cat("rope_scaling.factor = ", factor));
  RopeConfig rope;
  rope.dim = encoder.hidden / encoder.heads;
  rope.max_positions = encoder.positions;
  rope.theta = config.number("rope_theta", 10000) * factor;
  rope.kind = RopeKind::kLinear;
  rope.factor = std::pow(factor, 2.0 / static_cast<double>(rope.dim));
  return rope;
}

// GTE's second generation: BERT with rotated positions, and a gate behind what it opens.
EncoderConfig gte(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.layers = read_count(config, "num_hidden_layers", 4096);
  encoder.hidden = read_count(config, "hidden_size");
  encoder.heads = read_count(config, "num_attention_heads");
  encoder.intermediate = read_count(config, "intermediate_size", int64_t{1} << 20);
  encoder.positions = read_count(config, "max_position_embeddings", int64_t{1} << 20);
  encoder.types = config.integer("type_vocab_size", 0);
  encoder.eps = static_cast<float>(config.number("layer_norm_eps", 1e-12));
  encoder.activation = activation_named(config.text("hidden_act", "gelu"));
  for (const auto& [name, usual] : {std::pair{"position_embedding_type", "rope"}, {"layer_norm_type", "layer_norm"}}) {
    if (const std::string kind = config.text(name, usual); kind != usual) {
      throw Error(ErrorCode::kUnsupported, cat("config.json: ", name, " = '", kind, "', expected ", usual));
    }
  }
  expect_usual(config, "logn_attention_scale", 0);
  expect_usual(config, "pack_qkv", 1);
  encoder.learns_positions = false;
  encoder.ropes.assign(static_cast<size_t>(encoder.layers), gte_rope(config, encoder));
  encoder.mlp_bias = false;
  encoder.down_bias = true;
  EncoderNames& names = encoder.names;
  set_bert_names(names);
  names.positions = names.pooler = names.up = "";
  if (encoder.types == 0) names.types = "";
  names.q = names.k = names.v = "";
  names.qkv = "attention.qkv_proj";
  names.out = "attention.o_proj";
  names.attn_norm = "attn_ln";
  names.up_gate = "mlp.up_gate_proj";
  names.down = "mlp.down_proj";
  names.mlp_norm = "mlp_ln";
  return encoder;
}

// Llama that looks both ways.
EncoderConfig eurobert(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.layers = read_count(config, "num_hidden_layers", 4096);
  encoder.hidden = read_count(config, "hidden_size");
  encoder.heads = read_count(config, "num_attention_heads");
  encoder.intermediate = read_count(config, "intermediate_size", int64_t{1} << 20);
  encoder.positions = read_count(config, "max_position_embeddings", int64_t{1} << 20);
  encoder.eps = static_cast<float>(config.number("rms_norm_eps", 1e-5));
  encoder.activation = activation_named(config.text("hidden_act", "silu"));
  encoder.kv_heads = config.has("num_key_value_heads") ? read_count(config, "num_key_value_heads") : encoder.heads;
  encoder.ropes = same_ropes(config, encoder, 10000);
  expect_usual(config, "head_dim", static_cast<double>(encoder.hidden / encoder.heads));
  encoder.norm = NormKind::kRms;
  encoder.norms_sums = encoder.learns_positions = false;
  encoder.attention_bias = config.flag("attention_bias", false);
  encoder.mlp_bias = config.flag("mlp_bias", false);
  EncoderNames& names = encoder.names;
  names.tokens = "embed_tokens";
  names.layers = "layers.";
  names.attn_norm = "input_layernorm";
  names.q = "self_attn.q_proj";
  names.k = "self_attn.k_proj";
  names.v = "self_attn.v_proj";
  names.out = "self_attn.o_proj";
  names.mlp_norm = "post_attention_layernorm";
  names.gate = "mlp.gate_proj";
  names.up = "mlp.up_proj";
  names.down = "mlp.down_proj";
  names.final_norm = "norm";
  return encoder;
}

constexpr EncoderFamily kFamilies[] = {
    {"bert", "BERT: MiniLM, BGE, E5, GTE, Jina 2 and others", bert},
    {"camembert", "CamemBERT", roberta},
    {"distilbert", "DistilBERT", distilbert},
    {"eurobert", "EuroBERT", eurobert},
    {"modernbert", "ModernBERT", modernbert},
    {"mt5", "mT5's encoder", t5},
    {"new", "GTE's second generation and Arctic Embed 2", gte},
    {"nomic_bert", "Nomic-BERT", nomic_bert},
    {"roberta", "RoBERTa", roberta},
    {"t5", "T5's and Flan-T5's encoder", t5},
    {"umt5", "UMT5's encoder", t5},
    {"xlm-roberta", "XLM-RoBERTa: multilingual E5, BGE-M3 and others", roberta},
};

const EncoderFamily* find_encoder_family(std::string_view model_type) {
  const auto found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                  [&](const EncoderFamily& family) { return family.model_type == model_type; });
  return found == std::end(kFamilies) ? nullptr : found;
}

}  // namespace

std::span<const EncoderFamily> encoder_families() { return kFamilies; }

bool is_encoder_family(std::string_view model_type) { return find_encoder_family(model_type) != nullptr; }

bool is_encoder_config(const Json& config) {
  if (!config.is_object()) return false;
  const ConfigReader reader(config);
  return is_encoder_family(reader.text("model_type", "")) || looks_both_ways(reader);
}

EncoderConfig read_encoder_config(const ConfigReader& config) {
  const std::string type = config.text("model_type", "");
  if (looks_both_ways(config)) return both_ways(config);
  const EncoderFamily* const family = find_encoder_family(type);
  if (!family) {
    std::string known;
    for (const EncoderFamily& one : kFamilies) known += cat(known.empty() ? "" : ", ", one.model_type);
    throw Error(ErrorCode::kUnsupported, cat("'", type, "' is no text encoder that Wick knows; known are ", known));
  }
  EncoderConfig encoder = family->read(config);
  encoder.family = type;
  encoder.vocabulary = read_count(config, "vocab_size", int64_t{1} << 24);
  if (encoder.head_dim == 0 && encoder.hidden % encoder.heads != 0) {
    throw bad_setting(cat("the width ", encoder.hidden, " does not divide by ", encoder.heads, " heads"));
  }
  if (encoder.head_dim == 0) encoder.head_dim = encoder.hidden / encoder.heads;
  if (encoder.kv_heads > 0 && encoder.heads % encoder.kv_heads != 0) {
    throw bad_setting(cat(encoder.heads, " heads do not share ", encoder.kv_heads, " heads of keys evenly"));
  }
  check_settings(config, false);
  return encoder;
}

}  // namespace wick
