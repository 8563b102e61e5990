#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/families/families.h"
#include "models/families/recurrent/mixer_settings.h"

namespace wick {
namespace {

enum class Block : uint8_t { kMamba, kAttention, kMlp, kExperts };

struct BlockName {
  char letter;
  std::string_view name, older;
  Block block;
};
constexpr BlockName kBlocks[] = {
    {'M', "linear_attention", "mamba", Block::kMamba},
    {'*', "full_attention", "attention", Block::kAttention},
    {'-', "mlp", "mlp", Block::kMlp},
    {'E', "moe", "moe", Block::kExperts},
};

// By name, or by the letter that older files have for each layer.
std::vector<Block> read_blocks(const ConfigReader& config) {
  std::vector<std::string> names = config.texts("layers_block_type");
  if (names.empty()) names = config.texts("layer_types");
  const std::string pattern = config.text("hybrid_override_pattern", "");
  if (names.empty()) {
    for (const char letter : pattern) names.emplace_back(1, letter);
  }
  std::vector<Block> blocks;
  for (const std::string& name : names) {
    const auto fits = [&](const BlockName& row) {
      return name == row.name || name == row.older || (name.size() == 1 && name[0] == row.letter);
    };
    const auto row = std::find_if(std::begin(kBlocks), std::end(kBlocks), fits);
    if (row == std::end(kBlocks)) {
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: a layer of kind ", in_quotes(name), " is not known of a 'nemotron_h'"));
    }
    blocks.push_back(row->block);
  }
  const int64_t layers = checked_setting("the number of layers in layers_block_type", std::ssize(blocks), 4096);
  if (config.integer("num_hidden_layers", layers) != layers) {
    throw Error(ErrorCode::kBadFile, cat("config.json: layers_block_type names ", layers,
                                         " layers, num_hidden_layers is ", config.integer("num_hidden_layers")));
  }
  return blocks;
}

MoeConfig read_nemotron_experts(const ConfigReader& config, const DecoderConfig& decoder) {
  if (config.has("moe_latent_size")) {
    throw Error(ErrorCode::kUnsupported, "config.json: moe_latent_size is not supported of a 'nemotron_h'");
  }
  MoeConfig moe = read_sigmoid_experts(config, decoder);
  moe.shared_intermediate =
      count_setting(config, "moe_shared_expert_intermediate_size", 7688) * count_setting(config, "n_shared_experts", 1);
  return moe;
}

}  // namespace

// Each layer is one part alone behind its norm: Mamba 2, attention without positions, an MLP without a gate, or
// experts.
DecoderConfig nemotron_h_config(const ConfigReader& config) {
  const std::vector<Block> blocks = read_blocks(config);
  DecoderConfig decoder;
  decoder.family = config.text("model_type", "nemotron_h");
  decoder.layers = std::ssize(blocks);
  decoder.hidden = config.integer("hidden_size");
  decoder.vocabulary = config.integer("vocab_size");
  decoder.heads = config.integer("num_attention_heads");
  decoder.kv_heads = config.integer("num_key_value_heads", decoder.heads);
  decoder.head_dim = config.integer("head_dim", 128);
  decoder.intermediate = config.integer("intermediate_size", 21504);
  decoder.max_positions = config.integer("max_position_embeddings", 4096);
  decoder.norm_eps = static_cast<float>(config.number("layer_norm_epsilon", 1e-5));
  decoder.gated = false;
  decoder.activation = activation_named(config.text("mlp_hidden_act", "relu2"));
  decoder.attention_bias = decoder.output_bias = config.flag("attention_bias", false);
  decoder.mlp_bias = config.flag("mlp_bias", false);
  decoder.tied = config.flag("tie_word_embeddings", false);
  refuse_window(config);

  DecoderNames& names = decoder.names;
  names.embed = "backbone.embeddings";
  names.layers = "backbone.layers.";
  names.final_norm = "backbone.norm_f";
  names.attn_norm = names.mlp_norm = "norm";
  names.q = "mixer.q_proj";
  names.k = "mixer.k_proj";
  names.v = "mixer.v_proj";
  names.o = "mixer.o_proj";
  names.up = "mixer.up_proj";
  names.down = "mixer.down_proj";
  names.router = "mixer.gate";
  names.experts = "mixer.experts.";
  names.selection_bias = "mixer.gate.e_score_correction_bias";
  names.shared = "mixer.shared_experts.";

  decoder.kinds.resize(blocks.size());
  bool has_mamba = false, has_experts = false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    LayerKind& kind = decoder.kinds[i];
    kind.rope = -1;
    kind.attention = blocks[i] == Block::kAttention;
    kind.recurrent = blocks[i] == Block::kMamba;
    kind.sparse = blocks[i] == Block::kExperts;
    kind.feed_forward = kind.sparse || blocks[i] == Block::kMlp;
    has_mamba |= kind.recurrent;
    has_experts |= kind.sparse;
  }
  if (has_experts) {
    decoder.moe = read_nemotron_experts(config, decoder);
  } else {
    for (const char* name : {"n_shared_experts", "routed_scaling_factor", "topk_group"}) config.has(name);
  }
  if (!has_mamba) return decoder;

  const auto count = [&](std::string_view name, std::string_view older, int64_t fallback, int64_t most) {
    return checked_setting(name, config.integer(name, config.integer(older, fallback)), most);
  };
  Mamba2 mixer;
  mixer.heads = count("mamba_num_heads", "mamba_num_heads", 128, 1 << 16);
  mixer.head_dim = count("mamba_head_dim", "mamba_head_dim", 64, 1 << 16);
  mixer.groups = mixer.norm_groups = count("n_groups", "mamba_n_groups", 8, 1 << 16);
  mixer.states = count("ssm_state_size", "ssm_state_size", 128, 1 << 16);
  mixer.taps = count("conv_kernel", "mamba_d_conv", 4, 1024);
  if (mixer.heads % mixer.groups != 0) {
    throw Error(ErrorCode::kBadFile, cat("config.json: mamba_num_heads ", mixer.heads, " in n_groups ", mixer.groups,
                                         ", which does not divide"));
  }
  read_time_step_limit(config, mixer);
  mixer.least_dt = std::max(mixer.least_dt, static_cast<float>(config.number("time_step_min", 0.001)));
  if (!(mixer.least_dt <= mixer.most_dt)) {
    throw Error(ErrorCode::kBadFile,
                cat("config.json: steps of time are from ", mixer.least_dt, " to ", mixer.most_dt));
  }
  mixer.norm_eps = decoder.norm_eps;
  mixer.activation = activation_named(config.text("mamba_hidden_act", "silu"));
  const bool bias = config.flag("use_bias", false) || config.flag("mamba_proj_bias", false);
  const MixerBiases biases{bias, bias, config.flag("use_conv_bias", config.flag("mamba_conv_bias", true))};
  decoder.recurrent = mamba2_loader(mixer, "mixer.", decoder.hidden, biases, true);
  return decoder;
}

}  // namespace wick
