#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/families/families.h"
#include "models/families/recurrent/mixer_settings.h"

namespace wick {

// Granite 4: Granite with Mamba 2 on most layers, and experts beside an MLP that all tokens go through.
DecoderConfig granitemoehybrid_config(const ConfigReader& config) {
  DecoderConfig decoder = granite_config(config);
  const std::string positions = config.text("position_embedding_type", "");
  if (positions.empty() || positions == "nope") {
    rotate_nothing(decoder);
  } else if (positions != "rope") {
    throw Error(ErrorCode::kUnsupported, cat("config.json: position_embedding_type is ", in_quotes(positions),
                                             "; Granite 4 knows rope and nope"));
  }
  const std::string_view setting = config.has("layer_types") ? "layer_types" : "layers_block_type";
  place_attention(decoder, read_attention_layers(config, setting, decoder.layers));
  const int64_t shared = count_setting(config, "shared_intermediate_size", 1024);
  if (count_setting(config, "num_local_experts", 8) > 0) {
    decoder.moe = read_experts(config, decoder, true);
    decoder.moe->shared_intermediate = shared;
    for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  } else {
    decoder.intermediate = shared;
  }
  const bool is_mixed =
      std::any_of(decoder.kinds.begin(), decoder.kinds.end(), [](const LayerKind& kind) { return kind.recurrent; });
  if (!is_mixed) return decoder;
  const Mamba2 mixer = read_bamba_mixer(config, decoder, expanded_size(config, "mamba_expand", decoder.hidden));
  const bool bias = config.flag("mamba_proj_bias", false);
  const MixerBiases biases{bias, bias, config.flag("mamba_conv_bias", true)};
  decoder.recurrent = mamba2_loader(mixer, "mamba.", decoder.hidden, biases, true);
  return decoder;
}

}  // namespace wick
