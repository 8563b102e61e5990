#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/families/families.h"
#include "models/mixers/mixers.h"

namespace wick {
namespace {

// block_types names the layers of one period: "recurrent" or "attention".
std::vector<bool> attention_in_period(const ConfigReader& config) {
  std::vector<std::string> types = config.texts("block_types");
  if (types.empty()) types = {"recurrent", "recurrent", "attention"};
  std::vector<bool> attends;
  for (const std::string& type : types) {
    if (type != "recurrent" && type != "attention") {
      throw Error(ErrorCode::kUnsupported, cat("config.json: block_types has a layer of kind ", in_quotes(type),
                                               ", which Wick does not know of a 'recurrent_gemma'"));
    }
    attends.push_back(type == "attention");
  }
  return attends;
}

}  // namespace

// Gemma with Griffin's recurrent blocks on two layers of three, and attention within a window on the third.
DecoderConfig recurrent_gemma_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  DecoderNames& names = decoder.names;
  names.final_norm = "model.final_norm";
  names.attn_norm = "temporal_pre_norm";
  names.mlp_norm = "channel_pre_norm";
  names.q = "temporal_block.q_proj";
  names.k = "temporal_block.k_proj";
  names.v = "temporal_block.v_proj";
  names.o = "temporal_block.o_proj";
  names.gate = "mlp_block.gate_proj";
  names.up = "mlp_block.up_proj";
  names.down = "mlp_block.down_proj";
  decoder.max_positions = config.integer("max_position_embeddings", 8192);
  decoder.norm_offset = 1;
  if (config.flag("embeddings_scale_by_sqrt_dim", true)) {
    decoder.embedding_scale = std::sqrt(static_cast<float>(decoder.hidden));
  }
  decoder.activation = activation_named(config.text("hidden_activation", "gelu_pytorch_tanh"));
  decoder.intermediate /= 2;  // the setting counts gate and up together
  decoder.mlp_bias = decoder.output_bias = true;
  decoder.tied = config.flag("tie_word_embeddings", true);
  decoder.logit_soft_cap = static_cast<float>(config.number("logits_soft_cap", 30));
  rotate_part(config, decoder, 0.5);
  const std::vector<bool> attends = attention_in_period(config);
  const int64_t window =
      checked_setting("attention_window_size", config.integer("attention_window_size", 2048), int64_t{1} << 31);
  for (size_t i = 0; i < decoder.kinds.size(); ++i) {
    LayerKind& kind = decoder.kinds[i];
    if (attends[i % attends.size()]) {
      kind.window = window;
    } else {
      kind.replace_attention(true);
    }
  }
  RgLru mixer;
  mixer.width = checked_setting("lru_width", config.integer("lru_width", decoder.hidden));
  mixer.taps = checked_setting("conv1d_width", config.integer("conv1d_width", 4), 1024);
  mixer.activation = decoder.activation;
  const int64_t blocks = checked_setting("num_attention_heads", decoder.heads, kMostHeads);
  if (mixer.width % blocks != 0) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: lru_width ", mixer.width, " is not a multiple of num_attention_heads ", blocks));
  }
  decoder.recurrent = rg_lru_loader(mixer, "temporal_block.", decoder.hidden, blocks);
  return decoder;
}

}  // namespace wick
