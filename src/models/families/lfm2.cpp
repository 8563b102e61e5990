#include "models/families/families.h"

#include <algorithm>

#include "models/mixers/mixers.h"

namespace wick {

// Short convolutions on most layers, attention with norms on q and k on the others.
DecoderConfig lfm2_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  DecoderNames& names = decoder.names;
  names.final_norm = "model.embedding_norm";
  names.attn_norm = "operator_norm";
  names.mlp_norm = "ffn_norm";
  names.gate = "feed_forward.w1";
  names.up = "feed_forward.w3";
  names.down = "feed_forward.w2";
  names.o = "self_attn.out_proj";
  names.q_norm = "self_attn.q_layernorm";
  names.k_norm = "self_attn.k_layernorm";
  decoder.qk_norm = QkNorm::kPerHead;
  decoder.norm_eps = static_cast<float>(config.number("norm_eps", 1e-5));
  decoder.tied = config.flag("tie_word_embeddings", config.flag("tie_embedding", true));
  ShortConv conv;
  conv.hidden = checked_setting("hidden_size", decoder.hidden);
  conv.taps = checked_setting("conv_L_cache", config.integer("conv_L_cache", 3), 1024);
  decoder.recurrent = short_conv_loader(conv, "conv.", config.flag("conv_bias", false));
  if (config.flag("block_auto_adjust_ff_dim", true)) {
    const auto scaled = static_cast<int64_t>(static_cast<double>(2 * decoder.intermediate / 3) *
                                             config.number("block_ffn_dim_multiplier", 1));
    const int64_t multiple = std::max<int64_t>(config.integer("block_multiple_of", 256), 1);
    decoder.intermediate = (scaled + multiple - 1) / multiple * multiple;
  }
  const std::vector<std::string> types = config.texts("layer_types");
  const std::vector<int64_t> full = config.integers("full_attn_idxs");
  for (size_t i = 0; i < decoder.kinds.size(); ++i) {
    const bool listed = std::find(full.begin(), full.end(), static_cast<int64_t>(i)) != full.end();
    const bool is_conv = i < types.size() ? types[i] == "conv" : !full.empty() && !listed;
    if (is_conv) decoder.kinds[i].replace_attention(true);
  }
  return decoder;
}

// LFM2, with experts chosen by their sigmoid behind the first layers.
DecoderConfig lfm2_moe_config(const ConfigReader& config) {
  DecoderConfig decoder = lfm2_config(config);
  decoder.intermediate = config.integer("intermediate_size");
  decoder.names.router = "feed_forward.gate";
  decoder.names.selection_bias = "feed_forward.expert_bias";
  decoder.moe = read_sigmoid_experts(config, decoder);
  decoder.moe->selection_bias = config.flag("use_expert_bias", true);
  read_dense_beginning(config, decoder, "num_dense_layers");
  return decoder;
}

}  // namespace wick
