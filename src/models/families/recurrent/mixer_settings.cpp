#include "models/families/recurrent/mixer_settings.h"

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/families/families.h"

namespace wick {
namespace {

// A bound of time_step_limit; Hugging Face writes infinity as {"__float__": "Infinity"}.
float time_step(const Json& bound) {
  const Json* text = bound.is_object() ? bound.find("__float__") : &bound;
  if (text && text->is_text() && text->as_text() == "Infinity") return std::numeric_limits<float>::infinity();
  return static_cast<float>(bound.as_number());
}

}  // namespace

int64_t expanded_size(const ConfigReader& config, std::string_view setting, int64_t hidden) {
  const double expand = config.number(setting, 2);
  if (!(expand > 0 && expand < 1024)) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: ", setting, " is ", expand, ", expected above 0 and below 1024"));
  }
  checked_setting("hidden_size", hidden);
  return checked_setting(cat(setting, " times hidden_size"),
                         static_cast<int64_t>(expand * static_cast<double>(hidden)));
}

int64_t time_step_rank(const ConfigReader& config, std::string_view setting, int64_t hidden) {
  const Json* rank = config.find(setting);
  const bool is_worked_out = !rank || (rank->is_text() && rank->as_text() == "auto");
  return checked_setting(setting, is_worked_out ? (hidden + 15) / 16 : rank->as_int());
}

void read_time_step_limit(const ConfigReader& config, Mamba2& mixer) {
  const Json* limit = config.find("time_step_limit");
  if (!limit) return;
  if (limit->as_array().size() != 2) throw Error(ErrorCode::kBadFile, cat(limit->place(), " is not two numbers"));
  mixer.least_dt = time_step(limit->as_array()[0]);
  mixer.most_dt = time_step(limit->as_array()[1]);
  if (!(mixer.least_dt <= mixer.most_dt)) {
    throw Error(ErrorCode::kBadFile, cat(limit->place(), " is from ", mixer.least_dt, " to ", mixer.most_dt));
  }
}

Mamba2 read_bamba_mixer(const ConfigReader& config, const DecoderConfig& decoder, int64_t inner) {
  Mamba2 mixer;
  mixer.heads = checked_setting("mamba_n_heads", config.integer("mamba_n_heads", 128), 1 << 16);
  const Json* head_dim = config.find("mamba_d_head");
  const bool is_worked_out = !head_dim || (head_dim->is_text() && head_dim->as_text() == "auto");
  mixer.head_dim = checked_setting("mamba_d_head", is_worked_out ? inner / mixer.heads : head_dim->as_int(), 1 << 16);
  mixer.groups = checked_setting("mamba_n_groups", config.integer("mamba_n_groups", 1), 1 << 16);
  mixer.states = checked_setting("mamba_d_state", config.integer("mamba_d_state", 256), 1 << 16);
  mixer.taps = checked_setting("mamba_d_conv", config.integer("mamba_d_conv", 4), 1024);
  if (mixer.inner() != inner || mixer.heads % mixer.groups != 0) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: mamba_n_heads ", mixer.heads, " of mamba_d_head ", mixer.head_dim,
                    " in mamba_n_groups ", mixer.groups, " do not make up ", inner, " channels"));
  }
  read_time_step_limit(config, mixer);
  mixer.norm_eps = decoder.norm_eps;
  mixer.activation = decoder.activation;
  return mixer;
}

std::vector<bool> read_attention_layers(const ConfigReader& config, std::string_view setting, int64_t layers) {
  std::vector<bool> attends;
  const std::vector<std::string> types = config.texts(setting);
  for (const std::string& type : types) {
    const bool is_attention = type == "attention" || type == "full_attention";
    if (!is_attention && type != "mamba" && type != "linear_attention") {
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: ", setting, " has a layer of kind ", in_quotes(type),
                      ", which Wick does not know of a '", config.text("model_type", ""), "'"));
    }
    attends.push_back(is_attention);
  }
  if (!types.empty() && std::ssize(types) != layers) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: ", setting, " names ", types.size(), " layers, num_hidden_layers is ", layers));
  }
  return attends;
}

void place_attention(DecoderConfig& decoder, const std::vector<bool>& attends) {
  for (size_t i = 0; i < decoder.kinds.size(); ++i) {
    if (i >= attends.size() || !attends[i]) decoder.kinds[i].replace_attention(true);
  }
}

void name_feed_forward(DecoderNames& names) {
  names.final_norm = "model.final_layernorm";
  names.mlp_norm = "pre_ff_layernorm";
  names.gate = "feed_forward.gate_proj";
  names.up = "feed_forward.up_proj";
  names.down = "feed_forward.down_proj";
}

void refuse_window(const ConfigReader& config) {
  if (config.integer("sliding_window", 0) == 0) return;
  throw Error(ErrorCode::kUnsupported,
              cat("config.json: sliding_window is not supported of a '", config.text("model_type", ""), "'"));
}

}  // namespace wick
