#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/decoder/decoder.h"
#include "models/registry.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {

// Tiny models with recurrent mixers beside attention, one for each way to put them together.
struct HybridModel {
  const char* name;
  const char* config;
};
inline constexpr HybridModel kHybridModels[] = {
    {"mamba2-moe", R"({"model_type": "granitemoehybrid", "hidden_size": 32, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24, "shared_intermediate_size": 40,
        "num_local_experts": 5, "num_experts_per_tok": 2, "layer_types": ["mamba", "attention", "mamba"],
        "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 5, "mamba_n_groups": 2, "mamba_d_conv": 3,
        "max_position_embeddings": 256, "attention_multiplier": 0.3, "residual_multiplier": 0.7,
        "embedding_multiplier": 2, "logits_scaling": 1.5, "vocab_size": 192})"},
    {"delta-rule", R"({"model_type": "qwen3_next", "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 40, "moe_intermediate_size": 24,
        "shared_expert_intermediate_size": 20, "num_experts": 5, "num_experts_per_tok": 2, "decoder_sparse_step": 2,
        "full_attention_interval": 3, "linear_num_key_heads": 2, "linear_num_value_heads": 6,
        "linear_key_head_dim": 7, "linear_value_head_dim": 9, "linear_conv_kernel_dim": 3,
        "max_position_embeddings": 256, "vocab_size": 192})"},
    {"mamba-moe", R"({"model_type": "jamba", "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 40, "num_experts": 4, "num_experts_per_tok": 2,
        "attn_layer_period": 3, "attn_layer_offset": 2, "expert_layer_period": 2, "expert_layer_offset": 0,
        "mamba_d_state": 5, "mamba_d_conv": 3, "mamba_expand": 2, "mamba_dt_rank": 3, "vocab_size": 192,
        "max_position_embeddings": 256})"},
    {"side-by-side", R"({"model_type": "falcon_h1", "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40, "mamba_d_ssm": 48,
        "mamba_n_heads": 6, "mamba_d_head": 8, "mamba_n_groups": 3, "mamba_d_state": 5, "mamba_d_conv": 4,
        "mamba_rms_norm": true, "mamba_norm_before_gate": true, "ssm_multipliers": [0.5, 1.5, 0.8, 1.2, 0.9],
        "ssm_in_multiplier": 0.7, "ssm_out_multiplier": 1.3, "attention_in_multiplier": 1.4,
        "attention_out_multiplier": 0.6, "key_multiplier": 0.5, "mlp_multipliers": [0.8, 1.1],
        "embedding_multiplier": 2, "lm_head_multiplier": 0.5, "vocab_size": 192, "max_position_embeddings": 256})"},
    {"one-part-each", R"({"model_type": "nemotron_h", "hidden_size": 32, "hybrid_override_pattern": "M-*EM",
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 40,
        "mamba_num_heads": 6, "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 5, "conv_kernel": 4,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
        "moe_shared_expert_intermediate_size": 20, "routed_scaling_factor": 1.5, "vocab_size": 192,
        "max_position_embeddings": 256})"},
    {"griffin", R"({"model_type": "recurrent_gemma", "hidden_size": 32, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 80, "lru_width": 48,
        "conv1d_width": 3, "attention_window_size": 40, "block_types": ["recurrent", "attention"],
        "logits_soft_cap": 20.0, "vocab_size": 192, "max_position_embeddings": 256})"},
    {"matrix-memory", R"({"model_type": "xlstm", "hidden_size": 32, "num_blocks": 2, "num_heads": 4,
        "qk_dim_factor": 0.5, "v_dim_factor": 1.5, "ffn_round_up_to_multiple_of": 8, "gate_soft_cap": 12.0,
        "vocab_size": 192})"},
};

// A checkpoint with every tensor that these settings ask for, random and small.
inline void write_random_checkpoint(const std::filesystem::path& folder, const std::string& config_text,
                                    const ModelOptions& options = {}) {
  const Json config = Json::parse(config_text, "config.json");
  WeightLoader listing = WeightLoader::listing();
  const ConfigReader reader(config);
  const Decoder lists(find_family(config.at("model_type").as_text())->decoder(reader), listing, options);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const WantedTensor& wanted : listing.wanted()) {
    const bool is_filter = wanted.name.ends_with("conv1d.weight");
    const Tensor values =
        randn(is_filter ? Shape({wanted.shape[0], 1, wanted.shape[1]}) : wanted.shape, tensors.size());
    float* value = values.mutable_data<float>();
    for (int64_t i = 0; i < values.numel(); ++i) value[i] *= 0.3f;
    tensors.emplace_back(wanted.name, values);
  }
  write_checkpoint(folder, config_text, tensors);
}

// A hybrid of this name, made up, or else a fixture.
inline std::filesystem::path model_folder(const std::string& name) {
  static std::map<std::string, std::unique_ptr<TempFolder>> made;
  for (const HybridModel& model : kHybridModels) {
    if (name != model.name) continue;
    auto& folder = made[name];
    if (!folder) {
      folder = std::make_unique<TempFolder>();
      write_random_checkpoint(folder->path(), model.config);
    }
    return folder->path();
  }
  return family_folder(name);
}

}  // namespace wick
