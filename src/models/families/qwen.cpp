#include "models/families/families.h"

namespace wick {

DecoderConfig qwen2_config(const ConfigReader& config) {  // Llama, with biases on q, k and v
  DecoderConfig decoder = llama_config(config);
  decoder.attention_bias = config.flag("attention_bias", true);
  decoder.output_bias = false;
  if (config.flag("use_sliding_window", false)) {
    read_windows(config, decoder);
    // Without layer_types the first layers see everything.
    const int64_t first = config.has("layer_types") ? 0 : config.integer("max_window_layers", 28);
    for (int64_t i = 0; i < first && i < decoder.layers; ++i) decoder.kinds[static_cast<size_t>(i)].window = 0;
  }
  return decoder;
}

DecoderConfig qwen2_moe_config(const ConfigReader& config) {  // Qwen2, with experts and a gated shared one
  DecoderConfig decoder = qwen2_config(config);
  decoder.moe = read_experts(config, decoder, false);
  decoder.moe->shared_intermediate = config.integer("shared_expert_intermediate_size", 0);
  decoder.moe->shared_gate = true;
  read_sparse_layers(config, decoder);
  return decoder;
}

DecoderConfig qwen3_config(const ConfigReader& config) {  // Llama, with norms on each head of q and k
  DecoderConfig decoder = llama_config(config);
  decoder.qk_norm = QkNorm::kPerHead;
  if (!config.has("head_dim")) {
    decoder.head_dim = 128;
    decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions)};
  }
  if (config.flag("use_sliding_window", false)) read_windows(config, decoder);
  return decoder;
}

namespace {

// Positions in three axes, unless the settings say how many pairs turn by each.
void use_axes(DecoderConfig& decoder, std::vector<int64_t> sections, bool interleaved) {
  for (RopeConfig& rope : decoder.ropes) {
    if (rope.axes.empty()) rope.axes = sections;
    rope.axes_interleaved = interleaved;
  }
}

}  // namespace

DecoderConfig qwen2_5_vl_config(const ConfigReader& config) {  // Qwen2, with positions in three axes
  DecoderConfig decoder = qwen2_config(config);
  use_axes(decoder, {16, 24, 24}, false);
  return decoder;
}

DecoderConfig qwen3_vl_config(const ConfigReader& config) {  // Qwen3, with positions in three interleaved axes
  DecoderConfig decoder = qwen3_config(config);
  use_axes(decoder, {24, 20, 20}, true);
  return decoder;
}

DecoderConfig qwen3_vl_moe_config(const ConfigReader& config) {  // Qwen3-VL, with experts
  DecoderConfig decoder = qwen3_moe_config(config);
  decoder.moe->routing.renormalize = config.flag("norm_topk_prob", true);
  use_axes(decoder, {24, 20, 20}, true);
  return decoder;
}

DecoderConfig qwen3_moe_config(const ConfigReader& config) {  // Qwen3, with experts
  DecoderConfig decoder = qwen3_config(config);
  decoder.moe = read_experts(config, decoder, false);
  read_sparse_layers(config, decoder);
  return decoder;
}

}  // namespace wick
