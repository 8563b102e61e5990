#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/families/recurrent/mixer_settings.h"

namespace wick {
namespace {

// A norm and a mixer on each layer, and nothing else.
DecoderConfig mixers_config(const ConfigReader& config, bool tied) {
  DecoderConfig decoder;
  decoder.family = config.text("model_type", "mamba");
  decoder.layers = checked_setting("num_hidden_layers", config.integer("num_hidden_layers"), 4096);
  decoder.hidden = checked_setting("hidden_size", config.integer("hidden_size"));
  decoder.vocabulary = checked_setting("vocab_size", config.integer("vocab_size"));
  decoder.norm_eps = static_cast<float>(config.number("layer_norm_epsilon", 1e-5));
  decoder.activation = activation_named(config.text("hidden_act", "silu"));
  decoder.tied = config.flag("tie_word_embeddings", tied);
  decoder.names.embed = "backbone.embeddings";
  decoder.names.layers = "backbone.layers.";
  decoder.names.attn_norm = "norm";
  decoder.names.final_norm = "backbone.norm_f";
  decoder.kinds.resize(static_cast<size_t>(decoder.layers));
  for (LayerKind& kind : decoder.kinds) {
    kind.replace_attention(true);
    kind.feed_forward = false;
  }
  return decoder;
}

int64_t inner_size(const ConfigReader& config, int64_t hidden) {
  if (!config.has("intermediate_size")) return expanded_size(config, "expand", hidden);
  return checked_setting("intermediate_size", config.integer("intermediate_size"));
}

}  // namespace

DecoderConfig mamba_config(const ConfigReader& config) {  // and Falcon Mamba, which norms dt, B and C
  DecoderConfig decoder = mixers_config(config, true);
  Mamba mixer;
  mixer.inner = inner_size(config, decoder.hidden);
  mixer.states = checked_setting("state_size", config.integer("state_size", 16), 1 << 16);
  mixer.taps = checked_setting("conv_kernel", config.integer("conv_kernel", 4), 1024);
  mixer.rank = time_step_rank(config, "time_step_rank", decoder.hidden);
  mixer.activation = decoder.activation;
  if (decoder.family == "falcon_mamba") {
    mixer.dt_norm.kind = NormKind::kRms;
    mixer.dt_norm.eps = static_cast<float>(config.number("mixer_rms_eps", 1e-6));
    mixer.b_norm = mixer.c_norm = mixer.dt_norm;
  }
  const bool bias = config.flag("use_bias", false);
  const MixerBiases biases{bias, bias, config.flag("use_conv_bias", true)};
  decoder.recurrent = mamba_loader(mixer, "mixer.", decoder.hidden, biases, false);
  return decoder;
}

DecoderConfig mamba2_config(const ConfigReader& config) {
  DecoderConfig decoder = mixers_config(config, false);
  Mamba2 mixer;
  const int64_t inner = inner_size(config, decoder.hidden);
  mixer.head_dim = checked_setting("head_dim", config.integer("head_dim", 64), 1 << 16);
  mixer.heads = checked_setting("num_heads", config.integer("num_heads", inner / mixer.head_dim), 1 << 16);
  mixer.groups = checked_setting("n_groups", config.integer("n_groups", 1), 1 << 16);
  mixer.states = checked_setting("state_size", config.integer("state_size", 128), 1 << 16);
  mixer.taps = checked_setting("conv_kernel", config.integer("conv_kernel", 4), 1024);
  if (mixer.inner() != inner || mixer.heads % mixer.groups != 0) {
    throw Error(ErrorCode::kBadFile, cat("config.json: num_heads ", mixer.heads, " of head_dim ", mixer.head_dim,
                                         " in n_groups ", mixer.groups, " do not make up ", inner, " channels"));
  }
  read_time_step_limit(config, mixer);
  mixer.norm_groups = mixer.groups;
  mixer.norm_eps = decoder.norm_eps;
  mixer.activation = decoder.activation;
  const bool bias = config.flag("use_bias", false);
  const MixerBiases biases{bias, bias, config.flag("use_conv_bias", true)};
  decoder.recurrent = mamba2_loader(mixer, "mixer.", decoder.hidden, biases, true);
  return decoder;
}

// RWKV-4, as Hugging Face's RwkvForCausalLM has it. rescale_every keeps halved numbers within the range of f16; what it
// halves, the norms undo. In f32 there is no need.
DecoderConfig rwkv_config(const ConfigReader& config) {
  DecoderConfig decoder = mixers_config(config, false);
  decoder.norm = NormKind::kLayer;
  decoder.names.embed = "rwkv.embeddings";
  decoder.names.embed_norm = "rwkv.blocks.0.pre_ln";
  decoder.names.layers = "rwkv.blocks.";
  decoder.names.attn_norm = "ln1";
  decoder.names.mlp_norm = "ln2";
  decoder.names.final_norm = "rwkv.ln_out";
  decoder.names.head = "head";
  const int64_t hidden = decoder.hidden;
  const int64_t inner = checked_setting("attention_hidden_size", config.integer("attention_hidden_size", hidden));
  decoder.recurrent = rwkv_time_loader("attention.", hidden, inner);
  const int64_t intermediate = checked_setting("intermediate_size", config.integer("intermediate_size", 4 * hidden));
  decoder.recurrent_mlp = rwkv_channel_loader("feed_forward.", hidden, intermediate);
  for (LayerKind& kind : decoder.kinds) kind.feed_forward = true;
  return decoder;
}

}  // namespace wick
