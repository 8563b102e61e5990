#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/families/recurrent/mixer_settings.h"

namespace wick {

// Mamba 2 on most layers, attention on those that are listed.
DecoderConfig bamba_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.max_positions = config.integer("max_position_embeddings", 262144);
  decoder.norm_eps = static_cast<float>(config.number("rms_norm_eps", 1e-5));
  rotate_part(config, decoder, 0.5);
  name_feed_forward(decoder.names);
  std::vector<bool> attends(decoder.kinds.size());
  for (const int64_t layer : config.integers("attn_layer_indices")) {
    if (layer < 0 || layer >= std::ssize(decoder.kinds)) {
      throw Error(ErrorCode::kBadFile,
                  cat("config.json: attn_layer_indices has ", layer, ", num_hidden_layers is ", decoder.layers));
    }
    attends[static_cast<size_t>(layer)] = true;
  }
  place_attention(decoder, attends);
  const Mamba2 mixer = read_bamba_mixer(config, decoder, expanded_size(config, "mamba_expand", decoder.hidden));
  const bool bias = config.flag("mamba_proj_bias", false);
  const MixerBiases biases{bias, bias, config.flag("mamba_conv_bias", true)};
  decoder.recurrent = mamba2_loader(mixer, "mamba.", decoder.hidden, biases, true);
  return decoder;
}

}  // namespace wick
