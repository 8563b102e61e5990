#include "models/config_reader.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/config_keys.h"

namespace wick {
namespace {

// Spellings beyond those that GGUF has a key for.
struct Alias {
  std::string_view name, other;
};
constexpr Alias kAliases[] = {
    {"rope_theta", "rotary_emb_base"},
    {"rope_theta", "rope_base"},
    {"partial_rotary_factor", "rotary_pct"},
    {"partial_rotary_factor", "rope_pct"},
    {"hidden_act", "hidden_activation"},
    {"hidden_act", "activation_function"},
    {"hidden_act", "activation"},
    {"tie_word_embeddings", "tie_embeddings"},
    {"attention_bias", "qkv_bias"},
    {"rms_norm_eps", "layernorm_epsilon"},
    {"rms_norm_eps", "rms_norm_epsilon"},
    {"rms_norm_eps", "layer_norm_epsilon"},
    {"head_dim", "kv_channels"},
    {"intermediate_size", "d_ff"},
    {"intermediate_size", "ffn_dim"},
    {"hidden_size", "n_embed"},
    {"num_attention_heads", "num_heads"},
    {"max_position_embeddings", "max_seq_len"},
};

const Json* present(const Json& config, std::string_view name) {
  const Json* member = config.is_object() ? config.find(name) : nullptr;
  return member && !member->is_null() ? member : nullptr;
}

RopeKind kind_named(const Json& scaling, const std::string& name) {
  if (name == "default" || name == "mrope" || name.empty()) return RopeKind::kDefault;
  if (name == "linear") return RopeKind::kLinear;
  if (name == "dynamic") return RopeKind::kDynamic;
  if (name == "llama3") return RopeKind::kLlama3;
  if (name == "yarn") return RopeKind::kYarn;
  if (name == "longrope" || name == "su") return RopeKind::kLongRope;
  if (name == "proportional") return RopeKind::kProportional;
  throw Error(ErrorCode::kUnsupported,
              cat(scaling.place(), " asks for the rope kind '", name,
                  "'; known are default, linear, dynamic, llama3, yarn, longrope and proportional"));
}

}  // namespace

const Json* ConfigReader::member(const Json& block, std::string_view name) const {
  const Json* found = present(block, name);
  if (found) read_.insert(found);
  return found;
}

const Json* ConfigReader::find(std::string_view name) const {
  const Json* first = member(*config_, name);
  const auto look = [&](std::string_view spelling) {
    const Json* found = member(*config_, spelling);
    if (!first) first = found;
  };
  for (const ConfigKey& key : config_keys()) {
    if (key.hf != name) continue;
    for (std::string_view rest = key.older; !rest.empty();) {
      const size_t space = rest.find(' ');
      look(rest.substr(0, space));
      rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    }
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) look(alias.other);
  }
  return first;
}

int64_t ConfigReader::integer(std::string_view name) const {
  if (const Json* member = find(name)) return member->as_int();
  const std::string& place = config_->place();
  throw Error(ErrorCode::kBadFile, cat(place.empty() ? "config.json" : place, " has no '", name, "'"));
}

int64_t ConfigReader::integer(std::string_view name, int64_t fallback) const {
  const Json* member = find(name);
  return member ? member->as_int() : fallback;
}

double ConfigReader::number(std::string_view name, double fallback) const {
  const Json* member = find(name);
  return member ? member->as_number() : fallback;
}

bool ConfigReader::flag(std::string_view name, bool fallback) const {
  const Json* member = find(name);
  return member ? member->as_bool() : fallback;
}

std::string ConfigReader::text(std::string_view name, std::string_view fallback) const {
  const Json* member = find(name);
  return member ? member->as_text() : std::string(fallback);
}

std::vector<int64_t> ConfigReader::integers(std::string_view name) const {
  const Json* member = find(name);
  return member ? member->to<std::vector<int64_t>>() : std::vector<int64_t>();
}

std::vector<std::string> ConfigReader::texts(std::string_view name) const {
  const Json* member = find(name);
  return member ? member->to<std::vector<std::string>>() : std::vector<std::string>();
}

RopeConfig read_rope(const ConfigReader& config, int64_t head_dim, int64_t max_positions, double theta,
                     std::string_view layer_type) {
  static const Json kNothing;
  const Json* block = config.find("rope_parameters");
  if (!block) block = config.find("rope_scaling");
  const std::string_view type = layer_type.empty() ? "full_attention" : layer_type;
  if (block && config.member(*block, type)) block = config.member(*block, type);
  const Json& scaling = block ? *block : kNothing;
  const auto optional = [&](std::string_view name) -> std::optional<double> {
    const Json* member = config.member(scaling, name);
    return member ? std::optional(member->as_number()) : std::nullopt;
  };
  const auto number = [&](std::string_view name, double fallback) { return optional(name).value_or(fallback); };

  RopeConfig rope;
  rope.theta = number("rope_theta", config.number("rope_theta", theta));
  const double share = number("partial_rotary_factor", config.number("partial_rotary_factor", 1));
  if (!(share > 0 && share <= 1)) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: partial_rotary_factor is ", share, ", expected above 0 and at most 1"));
  }
  rope.dim = static_cast<int64_t>(static_cast<double>(head_dim) * share);
  // Where both are given, rope_parameters is what counts.
  if (config.has("rotary_dim") && !config.has("rope_parameters")) rope.dim = config.integer("rotary_dim");
  rope.max_positions = max_positions;
  const Json* older = config.member(scaling, "type");
  const Json* kind = config.member(scaling, "rope_type");
  if (!kind) kind = older;
  rope.kind = kind ? kind_named(scaling, kind->as_text()) : RopeKind::kDefault;

  if (rope.kind == RopeKind::kProportional) {
    rope.turned_pairs = rope.dim / 2;
    rope.dim = head_dim;
  }

  const double original =
      number("original_max_position_embeddings",
             static_cast<double>(config.integer("original_max_position_embeddings", max_positions)));
  if (!(original >= 0 && original < 1e12)) {
    throw Error(ErrorCode::kBadFile, cat("config.json: rope's original_max_position_embeddings is ", original));
  }
  rope.original_positions = static_cast<int64_t>(original);
  const double grown = original > 0 ? static_cast<double>(max_positions) / original : 1;
  rope.factor = number("factor", rope.kind == RopeKind::kYarn || rope.kind == RopeKind::kLongRope ? grown : 1);
  if (rope.kind == RopeKind::kLongRope && config.has("original_max_position_embeddings")) rope.factor = grown;
  rope.low_freq_factor = number("low_freq_factor", 1);
  rope.high_freq_factor = number("high_freq_factor", 4);
  rope.beta_fast = number("beta_fast", 32);
  rope.beta_slow = number("beta_slow", 1);
  if (const Json* truncate = config.member(scaling, "truncate")) rope.truncate = truncate->as_bool();
  rope.attention_factor = optional("attention_factor");
  rope.mscale = optional("mscale");
  rope.mscale_all_dim = optional("mscale_all_dim");
  if (const Json* factors = config.member(scaling, "short_factor"))
    rope.short_factor = factors->to<std::vector<double>>();
  if (const Json* factors = config.member(scaling, "long_factor"))
    rope.long_factor = factors->to<std::vector<double>>();
  if (const Json* axes = config.member(scaling, "mrope_section")) {
    rope.axes = axes->to<std::vector<int64_t>>();
    rope.axes_interleaved = scaling.get("mrope_interleaved", false);
  }
  return rope;
}

}  // namespace wick
