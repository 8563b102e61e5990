#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/families/recurrent/mixer_settings.h"
#include "tensor/create.h"

namespace wick {
namespace {

// A list of `count` numbers; ones where it is missing.
std::vector<float> multipliers(const ConfigReader& config, std::string_view name, size_t count) {
  const Json* list = config.find(name);
  if (!list) return std::vector<float>(count, 1);
  std::vector<float> values;
  for (const Json& value : list->as_array()) values.push_back(static_cast<float>(value.as_number()));
  if (values.size() == count) return values;
  throw Error(ErrorCode::kBadFile, cat(list->place(), " has ", values.size(), " numbers, expected ", count));
}

// The multipliers of the gate, x, B, C and dt, each for all that `in` gives of it.
Tensor spread(const std::vector<float>& scales, const Mamba2& mixer) {
  const int64_t shared = mixer.groups * mixer.states,
                counts[] = {mixer.inner(), mixer.inner(), shared, shared, mixer.heads};
  std::vector<float> all;
  for (size_t i = 0; i < scales.size(); ++i) all.insert(all.end(), static_cast<size_t>(counts[i]), scales[i]);
  return from_vector(all, {std::ssize(all)});
}

}  // namespace

// Attention and Mamba 2 side by side on every layer, with multipliers on nearly everything.
DecoderConfig falcon_h1_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.max_positions = config.integer("max_position_embeddings", 8192);
  decoder.norm_eps = static_cast<float>(config.number("rms_norm_eps", 1e-5));
  name_feed_forward(decoder.names);
  for (LayerKind& kind : decoder.kinds) kind.recurrent = true;

  const auto scale = [&](std::string_view name) { return static_cast<float>(config.number(name, 1)); };
  decoder.embedding_scale = scale("embedding_multiplier");
  decoder.logit_scale = scale("lm_head_multiplier");
  const std::vector<float> mlp = multipliers(config, "mlp_multipliers", 2);
  decoder.mlp_gate_scale = mlp[0];
  decoder.mlp_out_scale = mlp[1];
  // Queries, keys and values are all of the scaled input: scores are scaled twice, values once.
  const float input = scale("attention_in_multiplier");
  if (input != 1 && decoder.attention_bias) {
    throw Error(ErrorCode::kUnsupported, "config.json: attention_in_multiplier beside attention_bias is not supported");
  }
  decoder.attention_scale =
      input * input * scale("key_multiplier") / std::sqrt(static_cast<float>(std::max<int64_t>(decoder.head_dim, 1)));
  decoder.attention_out_scale = input * scale("attention_out_multiplier");

  const int64_t inner = config.has("mamba_d_ssm") ? checked_setting("mamba_d_ssm", config.integer("mamba_d_ssm"))
                                                  : expanded_size(config, "mamba_expand", decoder.hidden);
  Mamba2 mixer = read_bamba_mixer(config, decoder, inner);
  mixer.norm_groups = mixer.groups;
  mixer.norms_before_gate = config.flag("mamba_norm_before_gate", true);
  mixer.input_scale = scale("ssm_in_multiplier");
  mixer.output_scale = scale("ssm_out_multiplier");
  const std::vector<float> parts = multipliers(config, "ssm_multipliers", 5);
  if (parts != std::vector<float>(5, 1)) mixer.part_scales = spread(parts, mixer);
  const MixerBiases biases{config.flag("mamba_proj_bias", false), config.flag("projectors_bias", false),
                           config.flag("mamba_conv_bias", true)};
  decoder.recurrent = mamba2_loader(mixer, "mamba.", decoder.hidden, biases, config.flag("mamba_rms_norm", false));
  return decoder;
}

}  // namespace wick
