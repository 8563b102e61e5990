#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/mixers/mixers.h"

namespace wick {
namespace {

void refuse(const ConfigReader& config, std::string_view name, bool is_known) {
  if (is_known) return;
  throw Error(ErrorCode::kUnsupported,
              cat(config.find(name)->place(), " is a setting of xLSTM that Wick knows only as it usually is"));
}

// A part of the hidden size, as a whole number.
int64_t share_of(const ConfigReader& config, std::string_view name, double usual, int64_t hidden) {
  const double factor = config.number(name, usual);
  if (!(factor > 0 && factor < 1024)) {
    throw Error(ErrorCode::kBadFile, cat("config.json: ", name, " is ", factor, ", expected above 0 and below 1024"));
  }
  return checked_setting(cat(name, " times hidden_size"), static_cast<int64_t>(factor * static_cast<double>(hidden)));
}

int64_t heads_of(const MatrixMemory& mixer, std::string_view name, int64_t size) {
  if (size % mixer.heads == 0) return size / mixer.heads;
  throw Error(ErrorCode::kBadFile,
              cat("config.json: ", name, " makes ", size, " channels, which ", mixer.heads, " heads do not divide"));
}

}  // namespace

// xLSTM 7B: a matrix memory and an MLP on each layer.
DecoderConfig xlstm_config(const ConfigReader& config) {
  DecoderConfig decoder;
  decoder.family = "xlstm";
  const bool has_blocks = config.has("num_blocks"), has_hidden = config.has("hidden_size");
  decoder.layers = checked_setting("num_blocks", config.integer(has_blocks ? "num_blocks" : "num_hidden_layers"), 4096);
  decoder.hidden = checked_setting("hidden_size", config.integer(has_hidden ? "hidden_size" : "embedding_dim"));
  decoder.vocabulary = checked_setting("vocab_size", config.integer("vocab_size"));
  if (config.integer("embedding_dim", decoder.hidden) != decoder.hidden) refuse(config, "embedding_dim", false);
  refuse(config, "use_bias", !config.flag("use_bias", false));
  refuse(config, "add_out_norm", config.flag("add_out_norm", true));
  refuse(config, "weight_mode", config.text("weight_mode", "single") == "single");
  decoder.norm_eps = static_cast<float>(config.number("norm_eps", 1e-6));
  decoder.tied = config.flag("tie_word_embeddings", false);
  decoder.logit_soft_cap = static_cast<float>(config.number("output_logit_soft_cap", 30));
  const double multiple = static_cast<double>(
      checked_setting("ffn_round_up_to_multiple_of", config.integer("ffn_round_up_to_multiple_of", 64)));
  const double wide = config.number("ffn_proj_factor", 2.667) * static_cast<double>(decoder.hidden);
  if (!(wide > 0 && wide < static_cast<double>(kMostOfAnything))) {
    throw Error(ErrorCode::kBadFile, cat("config.json: ffn_proj_factor makes an MLP of ", wide));
  }
  decoder.intermediate = static_cast<int64_t>(std::floor((wide + multiple - 1) / multiple) * multiple);
  DecoderNames& names = decoder.names;
  names.embed = "backbone.embeddings";
  names.layers = "backbone.blocks.";
  names.final_norm = "backbone.out_norm";
  names.attn_norm = "norm_mlstm";
  names.mlp_norm = "norm_ffn";
  names.gate = "ffn.proj_up_gate";
  names.up = "ffn.proj_up";
  names.down = "ffn.proj_down";
  decoder.kinds.resize(static_cast<size_t>(decoder.layers));
  for (LayerKind& kind : decoder.kinds) kind.replace_attention(true);

  MatrixMemory mixer;
  mixer.heads = checked_setting("num_heads", config.integer("num_heads", 8), kMostHeads);
  mixer.key_dim = heads_of(mixer, "qk_dim_factor", share_of(config, "qk_dim_factor", 0.5, decoder.hidden));
  mixer.value_dim = heads_of(mixer, "v_dim_factor", share_of(config, "v_dim_factor", 1, decoder.hidden));
  mixer.eps = static_cast<float>(config.number("eps", 1e-6));
  mixer.norm_eps = decoder.norm_eps;
  mixer.gate_cap = static_cast<float>(config.number("gate_soft_cap", 15));
  if (!(mixer.gate_cap > 0 && mixer.gate_cap <= 40)) {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: gate_soft_cap is ", mixer.gate_cap, "; Wick knows caps above 0 and up to 40"));
  }
  decoder.recurrent = matrix_memory_loader(mixer, "mlstm_layer.", decoder.hidden);
  return decoder;
}

}  // namespace wick
