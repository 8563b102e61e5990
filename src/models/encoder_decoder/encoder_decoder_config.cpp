#include "models/encoder_decoder/encoder_decoder_config.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/config_check.h"
#include "models/read_count.h"

namespace wick {
namespace {

// Without a table of positions there is no end: this many tokens take half a gigabyte of relative positions in the
// largest models.
constexpr int64_t kMostWithoutTable = 2048;

// The first of some names that the file has; the first of all where it has none.
std::string name_there(const WeightSource& source, std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    if (source.has(name + ".weight")) return name;
  }
  return *names.begin();
}

// Output weights of their own, which files may have even where the settings call them tied.
std::string head_of(const ConfigReader& config, const WeightSource& source) {
  const bool is_tied = config.flag("tie_word_embeddings", true);
  return !is_tied || source.has("lm_head.weight") ? "lm_head" : "";
}

EncoderDecoderConfig t5(const ConfigReader& config, const WeightSource& source) {
  EncoderDecoderConfig model;
  EncoderConfig& encoder = model.encoder;
  encoder = read_encoder_config(config);
  encoder.positions = std::max(encoder.positions, kMostWithoutTable);
  encoder.names.tokens = name_there(source, {"shared", "encoder.embed_tokens", "decoder.embed_tokens"});
  CrossDecoderConfig& decoder = model.decoder;
  decoder.layers = config.has("num_decoder_layers") ? read_count(config, "num_decoder_layers", 4096) : encoder.layers;
  decoder.width = encoder.hidden;
  decoder.heads = encoder.heads;
  decoder.head_dim = encoder.head_dim;
  decoder.intermediate = encoder.intermediate;
  decoder.norm = encoder.norm;
  decoder.eps = encoder.eps;
  decoder.activation = encoder.activation;
  decoder.learns_positions = decoder.biases = decoder.scales = false;
  decoder.relative_buckets = encoder.relative_buckets;
  decoder.relative_distance = encoder.relative_distance;
  decoder.own_relative = encoder.own_relative;
  if (decoder.relative_distance <= decoder.relative_buckets / 2) {
    throw bad_setting(cat("relative_attention_max_distance = ", decoder.relative_distance, ", which leaves none of ",
                          decoder.relative_buckets, " buckets for what lies further"));
  }
  // The first T5 shrinks what its head is given, which is the table of tokens; version 1.1 does neither.
  if (config.flag("scale_decoder_outputs", config.flag("tie_word_embeddings", true))) {
    decoder.logit_scale = 1 / std::sqrt(static_cast<float>(decoder.width));
  }
  CrossDecoderNames& names = decoder.names;
  names.tokens = encoder.names.tokens;
  names.layers = "decoder.block.";
  names.final_norm = "decoder.final_layer_norm";
  names.head = head_of(config, source);
  names.attn_norm = "layer.0.layer_norm";
  names.q = "layer.0.SelfAttention.q";
  names.k = "layer.0.SelfAttention.k";
  names.v = "layer.0.SelfAttention.v";
  names.out = "layer.0.SelfAttention.o";
  names.relative = "layer.0.SelfAttention.relative_attention_bias";
  names.cross_norm = "layer.1.layer_norm";
  names.cross_q = "layer.1.EncDecAttention.q";
  names.cross_k = "layer.1.EncDecAttention.k";
  names.cross_v = "layer.1.EncDecAttention.v";
  names.cross_out = "layer.1.EncDecAttention.o";
  names.mlp_norm = "layer.2.layer_norm";
  names.gate = encoder.names.gate.empty() ? "" : "layer.2.DenseReluDense.wi_0";
  names.up = encoder.names.gate.empty() ? "layer.2.DenseReluDense.wi" : "layer.2.DenseReluDense.wi_1";
  names.down = "layer.2.DenseReluDense.wo";
  return model;
}

// What BART and those that came of it share: norms behind sums, and learned positions whose table begins with two rows
// of padding.
EncoderDecoderConfig bart(const ConfigReader& config, const WeightSource& source) {
  EncoderDecoderConfig model;
  EncoderConfig& encoder = model.encoder;
  CrossDecoderConfig& decoder = model.decoder;
  encoder.hidden = decoder.width = read_count(config, "d_model");
  encoder.layers = read_count(config, "encoder_layers", 4096);
  decoder.layers = read_count(config, "decoder_layers", 4096);
  encoder.heads = read_count(config, "encoder_attention_heads");
  decoder.heads = read_count(config, "decoder_attention_heads");
  encoder.intermediate = read_count(config, "encoder_ffn_dim", int64_t{1} << 20);
  decoder.intermediate = read_count(config, "decoder_ffn_dim", int64_t{1} << 20);
  encoder.positions = decoder.positions = read_count(config, "max_position_embeddings", int64_t{1} << 20);
  encoder.vocabulary = read_count(config, "vocab_size", int64_t{1} << 24);
  for (const auto& [name, heads] :
       {std::pair{"encoder_attention_heads", encoder.heads}, std::pair{"decoder_attention_heads", decoder.heads}}) {
    if (encoder.hidden % heads == 0) continue;
    throw bad_setting(cat("d_model = ", encoder.hidden, ", which does not divide by ", name, " = ", heads));
  }
  encoder.head_dim = encoder.hidden / encoder.heads;
  decoder.head_dim = decoder.width / decoder.heads;
  encoder.first_position = decoder.first_position = 2;
  encoder.eps = decoder.eps = 1e-5f;
  decoder.norms_sums = true;
  encoder.activation = decoder.activation = activation_named(config.text("activation_function", "gelu"));
  if (config.flag("scale_embedding", false)) {
    encoder.embedding_scale = decoder.embedding_scale = std::sqrt(static_cast<float>(encoder.hidden));
  }
  const std::string prefix = source.has("encoder.layers.0.fc1.weight") ? "" : "model.";  // saved without its head
  EncoderNames& names = encoder.names;
  names.tokens = name_there(source, {prefix + "shared", prefix + "encoder.embed_tokens"});
  names.positions = prefix + "encoder.embed_positions";
  names.embedding_norm = prefix + "encoder.layernorm_embedding";
  names.layers = prefix + "encoder.layers.";
  names.attn_norm = "self_attn_layer_norm";
  names.q = "self_attn.q_proj";
  names.k = "self_attn.k_proj";
  names.v = "self_attn.v_proj";
  names.out = "self_attn.out_proj";
  names.mlp_norm = "final_layer_norm";
  names.up = "fc1";
  names.down = "fc2";
  CrossDecoderNames& to = decoder.names;
  to.tokens = names.tokens;
  to.positions = prefix + "decoder.embed_positions";
  to.embedding_norm = prefix + "decoder.layernorm_embedding";
  to.layers = prefix + "decoder.layers.";
  to.head = head_of(config, source);
  if (source.has("final_logits_bias")) to.logit_bias = "final_logits_bias";
  set_bart_names(to);
  return model;
}

// Norms stand before each part, and one behind all.
void norm_first(EncoderDecoderConfig& model) {
  const auto stem = [](const std::string& layers) { return layers.substr(0, layers.size() - 7); };  // without "layers."
  model.encoder.norms_sums = model.decoder.norms_sums = false;
  model.encoder.names.final_norm = stem(model.encoder.names.layers) + "layer_norm";
  model.decoder.names.final_norm = stem(model.decoder.names.layers) + "layer_norm";
}

void take_sinusoids(EncoderDecoderConfig& model, int64_t first_position, int64_t spread) {
  model.encoder.learns_positions = model.decoder.learns_positions = false;
  model.encoder.first_position = model.decoder.first_position = first_position;
  model.encoder.sinusoid_spread = model.decoder.sinusoid_spread = spread;
  model.encoder.names.embedding_norm = model.decoder.names.embedding_norm = "";
}

EncoderDecoderConfig mbart(const ConfigReader& config, const WeightSource& source) {
  EncoderDecoderConfig model = bart(config, source);
  norm_first(model);
  return model;
}

EncoderDecoderConfig marian(const ConfigReader& config, const WeightSource& source) {
  for (const char* name : {"share_encoder_decoder_embeddings", "tie_word_embeddings"}) {
    if (config.flag(name, true)) continue;
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: ", name, " = false, and a Marian is read with one table of tokens only"));
  }
  EncoderDecoderConfig model = bart(config, source);
  take_sinusoids(model, 0, model.encoder.hidden / 2);
  return model;
}

EncoderDecoderConfig m2m_100(const ConfigReader& config, const WeightSource& source) {
  EncoderDecoderConfig model = bart(config, source);
  if (model.encoder.hidden < 4) throw bad_setting(cat("d_model = ", model.encoder.hidden, ", expected 4 or more"));
  norm_first(model);
  take_sinusoids(model, 2, model.encoder.hidden / 2 - 1);
  return model;
}

EncoderDecoderConfig pegasus(const ConfigReader& config, const WeightSource& source) {
  EncoderDecoderConfig model = bart(config, source);
  norm_first(model);
  take_sinusoids(model, 0, model.encoder.hidden / 2);
  return model;
}

constexpr EncoderDecoderFamily kFamilies[] = {
    {"bart", "BART", bart},
    {"m2m_100", "M2M100 and NLLB", m2m_100},
    {"marian", "Marian: Opus-MT and others", marian},
    {"mbart", "mBART", mbart},
    {"mt5", "mT5", t5},
    {"pegasus", "Pegasus", pegasus},
    {"t5", "T5 and Flan-T5", t5},
    {"umt5", "UMT5", t5},
};

const EncoderDecoderFamily* find_encoder_decoder_family(std::string_view model_type) {
  const auto found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                  [&](const EncoderDecoderFamily& family) { return family.model_type == model_type; });
  return found == std::end(kFamilies) ? nullptr : found;
}

}  // namespace

std::span<const EncoderDecoderFamily> encoder_decoder_families() { return kFamilies; }

bool is_encoder_decoder(const WeightSource& source) {
  if (!source.config().is_object()) return false;
  const std::string type = ConfigReader(source.config()).text("model_type", "");
  const auto is_of_decoder = [](const std::string& name) {
    return name.starts_with("decoder.") || name.starts_with("model.decoder.");
  };
  const std::vector<std::string> names = source.names();
  return find_encoder_decoder_family(type) &&
         (!is_encoder_family(type) || std::any_of(names.begin(), names.end(), is_of_decoder));
}

EncoderDecoderConfig read_encoder_decoder_config(const ConfigReader& config, const WeightSource& source) {
  const std::string type = config.text("model_type", "");
  EncoderDecoderConfig model = find_encoder_decoder_family(type)->read(config, source);
  model.encoder.family = model.decoder.family = type;
  model.decoder.vocabulary = model.encoder.vocabulary;
  check_settings(config, false);
  return model;
}

}  // namespace wick
