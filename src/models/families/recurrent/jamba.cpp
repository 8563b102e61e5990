#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/families/recurrent/mixer_settings.h"

namespace wick {
namespace {

// Whether layer i is one of those that come every `period` layers, from `offset` on.
struct Rhythm {
  int64_t period, offset;

  Rhythm(const ConfigReader& config, std::string_view kind, int64_t usual_period, int64_t usual_offset)
      : period(checked_setting(cat(kind, "_layer_period"), config.integer(cat(kind, "_layer_period"), usual_period))),
        offset(count_setting(config, cat(kind, "_layer_offset"), usual_offset)) {
    if (offset >= period) {
      throw Error(ErrorCode::kBadFile,
                  cat("config.json: ", kind, "_layer_offset is ", offset, " and ", kind, "_layer_period ", period));
    }
  }
  bool has(size_t layer) const { return static_cast<int64_t>(layer) % period == offset; }
};

}  // namespace

// Mamba on most layers, with norms on dt, B and C; attention without positions and experts on some.
DecoderConfig jamba_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.max_positions = config.integer("max_position_embeddings", 262144);
  rotate_nothing(decoder);
  refuse_window(config);
  name_feed_forward(decoder.names);
  decoder.names.router = "feed_forward.router";
  decoder.names.experts = "feed_forward.experts.";
  const Rhythm attention(config, "attn", 8, 4), experts(config, "expert", 2, 1);
  const bool has_experts = count_setting(config, "num_local_experts", 16) > 1;
  if (has_experts) decoder.moe = read_experts(config, decoder, false);
  for (size_t i = 0; i < decoder.kinds.size(); ++i) {
    if (!attention.has(i)) decoder.kinds[i].replace_attention(true);
    decoder.kinds[i].sparse = has_experts && experts.has(i);
  }
  Mamba mixer;
  mixer.inner = expanded_size(config, "mamba_expand", decoder.hidden);
  mixer.states = checked_setting("mamba_d_state", config.integer("mamba_d_state", 16), 1 << 16);
  mixer.taps = checked_setting("mamba_d_conv", config.integer("mamba_d_conv", 4), 1024);
  mixer.rank = time_step_rank(config, "mamba_dt_rank", decoder.hidden);
  mixer.activation = decoder.activation;
  mixer.dt_norm.kind = NormKind::kRms;
  mixer.dt_norm.eps = decoder.norm_eps;
  mixer.b_norm = mixer.c_norm = mixer.dt_norm;
  const bool bias = config.flag("mamba_proj_bias", false);
  const MixerBiases biases{bias, bias, config.flag("mamba_conv_bias", true)};
  decoder.recurrent = mamba_loader(mixer, "mamba.", decoder.hidden, biases, true);
  return decoder;
}

}  // namespace wick
