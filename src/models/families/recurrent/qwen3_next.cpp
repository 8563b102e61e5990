#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/families/recurrent/mixer_settings.h"

namespace wick {
namespace {

// The gated delta rule on most layers; on the others attention with norms on q and k, a gate, and a quarter of each
// head rotated.
DecoderConfig delta_rule_config(const ConfigReader& config, DeltaRuleFiles files) {
  DecoderConfig decoder = llama_config(config);
  decoder.max_positions = config.integer("max_position_embeddings", 32768);
  if (!config.has("head_dim")) {
    decoder.head_dim = 256;
    decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions)};
  }
  rotate_part(config, decoder, 0.25);
  decoder.norm_offset = 1;
  decoder.qk_norm = QkNorm::kPerHead;
  decoder.gated_attention = config.flag("attn_output_gate", true);
  std::vector<bool> attends = read_attention_layers(config, "layer_types", decoder.layers);
  if (attends.empty()) {
    const int64_t period = checked_setting("full_attention_interval", config.integer("full_attention_interval", 4));
    for (int64_t i = 0; i < std::ssize(decoder.kinds); ++i) attends.push_back((i + 1) % period == 0);
  }
  place_attention(decoder, attends);

  DeltaRule mixer;
  const auto count = [&](std::string_view name, int64_t fallback, int64_t most) {
    return checked_setting(name, config.integer(name, fallback), most);
  };
  mixer.key_heads = count("linear_num_key_heads", 16, 1 << 16);
  mixer.heads = count("linear_num_value_heads", 32, 1 << 16);
  mixer.key_dim = count("linear_key_head_dim", 128, 1 << 16);
  mixer.value_dim = count("linear_value_head_dim", 128, 1 << 16);
  mixer.taps = count("linear_conv_kernel_dim", 4, 1024);
  if (mixer.heads % mixer.key_heads != 0) {
    throw Error(ErrorCode::kBadFile, cat("config.json: linear_num_value_heads ", mixer.heads,
                                         " is not a multiple of linear_num_key_heads ", mixer.key_heads));
  }
  if (decoder.activation != Activation::kSilu) {
    throw Error(ErrorCode::kUnsupported, cat("config.json: hidden_act is '", to_string(decoder.activation),
                                             "'; Wick knows 'silu' of a '", decoder.family, "'"));
  }
  mixer.norm_eps = decoder.norm_eps;
  decoder.recurrent = delta_rule_loader(mixer, "linear_attn.", decoder.hidden, files);
  return decoder;
}

// Experts, and a shared one with a gate of its own.
void add_experts(const ConfigReader& config, DecoderConfig& decoder) {
  decoder.moe = read_experts(config, decoder, true);
  decoder.moe->shared_intermediate = count_setting(config, "shared_expert_intermediate_size", 512);
  decoder.moe->shared_gate = true;
  read_sparse_layers(config, decoder);
}

// One more layer with attention, whose parts have names of their own.
void add_mtp(const ConfigReader& config, DecoderConfig& decoder) {
  if (config.flag("mtp_use_dedicated_embeddings", false)) return;
  if (config.integer("mtp_num_hidden_layers", config.integer("num_nextn_predict_layers", 1)) < 1) return;
  MtpConfig mtp;
  mtp.layers = "mtp.layers.";
  mtp.kind.sparse = decoder.moe.has_value();
  mtp.embed_norm = "mtp.pre_fc_norm_embedding";
  mtp.hidden_norm = "mtp.pre_fc_norm_hidden";
  mtp.join = "mtp.fc";
  mtp.final_norm = "mtp.norm";
  mtp.passes_normed = true;
  decoder.mtp = mtp;
}

}  // namespace

DecoderConfig qwen3_next_config(const ConfigReader& config) {
  // As newer GGUF files have them.
  const bool is_split = config.flag("linear_split_projections", false);
  DecoderConfig decoder = delta_rule_config(config, is_split ? DeltaRuleFiles::kSplit : DeltaRuleFiles::kFused);
  if (count_setting(config, "num_local_experts", 512) > 0) add_experts(config, decoder);
  add_mtp(config, decoder);
  return decoder;
}

// Qwen3-Next with projections of their own; dense, or with experts on every layer.
DecoderConfig qwen3_5_config(const ConfigReader& config) {
  DecoderConfig decoder = delta_rule_config(config, DeltaRuleFiles::kApart);
  for (RopeConfig& rope : decoder.ropes) {  // positions in three interleaved axes
    if (rope.axes.empty()) rope.axes = {11, 11, 10};
    rope.axes_interleaved = true;
  }
  if (decoder.family.starts_with("qwen3_5_moe")) add_experts(config, decoder);
  add_mtp(config, decoder);
  return decoder;
}

}  // namespace wick
