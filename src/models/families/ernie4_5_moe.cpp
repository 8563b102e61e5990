#include "models/families/families.h"

namespace wick {

// ERNIE 4.5, with experts that are chosen by their softmax and a bias.
DecoderConfig ernie4_5_moe_config(const ConfigReader& config) {
  DecoderConfig decoder = interleaved_config(config);
  MoeConfig moe;
  moe.routing.experts = config.integer("moe_num_experts");
  moe.routing.chosen = config.integer("moe_k", 6);
  moe.intermediate = count_setting(config, "moe_intermediate_size", 0);
  moe.shared_intermediate = moe.intermediate * count_setting(config, "moe_num_shared_experts", 2);
  moe.selection_bias = true;
  decoder.moe = moe;
  decoder.names.shared = "mlp.shared_experts.";
  decoder.names.selection_bias = "mlp.moe_statics.e_score_correction_bias";
  const int64_t first = config.integer("moe_layer_start_index", 1), last = config.integer("moe_layer_end_index", -1);
  const int64_t interval = config.integer("moe_layer_interval", 1);
  for (int64_t i = 0; i < static_cast<int64_t>(decoder.kinds.size()); ++i) {
    const bool within = i >= first && (last < 0 || i <= last);
    decoder.kinds[static_cast<size_t>(i)].sparse = within && interval > 0 && (i + 1) % interval == 0;
  }
  config.has("moe_norm_min");  // keeps a sum of shares away from 0, where it never is
  return decoder;
}

}  // namespace wick
