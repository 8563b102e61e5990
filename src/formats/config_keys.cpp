#include "formats/config_keys.h"

namespace wick {
namespace {

using enum ConfigKind;

constexpr ConfigKey kKeys[] = {
    {"block_count", "num_hidden_layers", kInteger, "n_layer n_layers num_layers"},
    {"context_length", "max_position_embeddings", kInteger, "n_positions n_ctx seq_length max_sequence_length"},
    {"embedding_length", "hidden_size", kInteger, "n_embd d_model dim"},
    {"feed_forward_length", "intermediate_size", kInteger, "n_inner ffn_hidden_size block_ff_dim"},
    {"vocab_size", "vocab_size"},
    {"attention.head_count", "num_attention_heads", kInteger, "n_head n_heads"},
    {"attention.head_count_kv", "num_key_value_heads", kInteger, "num_kv_heads n_head_kv n_kv_heads"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", kNumber, "norm_eps"},
    {"attention.layer_norm_epsilon", "layer_norm_eps", kNumber, "layer_norm_epsilon norm_epsilon"},
    {"attention.sliding_window", "sliding_window"},
    {"attention.clamp_kqv", "clip_qkv", kNumber},
    {"attention.scale", "attention_multiplier", kNumber},
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.shared_kv_layers", "num_kv_shared_layers"},
    {"attn_logit_softcapping", "attn_logit_softcapping", kNumber},
    {"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
    {"altup.num_inputs", "altup_num_inputs"},
    {"altup.active_idx", "altup_active_idx"},
    {"interleave_moe_layer_step", "interleave_moe_layer_step"},
    {"final_logit_softcapping", "final_logit_softcapping", kNumber},
    {"use_parallel_residual", "use_parallel_residual", kBool},
    {"logit_scale", "logit_scale", kNumber, "logits_scaling"},
    {"embedding_scale", "embedding_multiplier", kNumber},
    {"residual_scale", "residual_multiplier", kNumber},
    {"expert_count", "num_local_experts", kInteger, "num_experts n_routed_experts"},
    {"expert_used_count", "num_experts_per_tok", kInteger, "num_experts_per_token"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_weights_scale", "routed_scaling_factor", kNumber},
    {"expert_weights_norm", "norm_topk_prob", kBool},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"full_attention_interval", "full_attention_interval"},
    {"ssm.conv_kernel", "conv_kernel", kInteger, "d_conv"},
    {"ssm.state_size", "state_size", kInteger, "d_state"},
    {"ssm.group_count", "n_groups"},
    {"shortconv.l_cache", "conv_L_cache"},
};

struct Spelling {
  std::string_view architecture, hf, family;
};
constexpr Spelling kSpellings[] = {
    {"gpt2", "num_hidden_layers", "n_layer"},
    {"gpt2", "max_position_embeddings", "n_positions"},
    {"gpt2", "hidden_size", "n_embd"},
    {"gpt2", "intermediate_size", "n_inner"},
    {"gpt2", "num_attention_heads", "n_head"},
    {"gpt2", "layer_norm_eps", "layer_norm_epsilon"},
    {"bloom", "num_hidden_layers", "n_layer"},
    {"bloom", "num_attention_heads", "n_head"},
    {"bloom", "layer_norm_eps", "layer_norm_epsilon"},
    {"falcon", "layer_norm_eps", "layer_norm_epsilon"},
    {"falcon", "num_key_value_heads", "num_kv_heads"},
    {"falcon", "intermediate_size", "ffn_hidden_size"},
    {"starcoder2", "layer_norm_eps", "norm_epsilon"},
    {"nemotron", "layer_norm_eps", "norm_eps"},
    {"lfm2", "rms_norm_eps", "norm_eps"},
    {"lfm2moe", "rms_norm_eps", "norm_eps"},
    {"lfm2moe", "first_k_dense_replace", "num_dense_layers"},
    {"gemma4", "num_local_experts", "num_experts"},
    {"gemma4", "num_experts_per_tok", "top_k_experts"},
    {"llama4", "intermediate_size", "intermediate_size_mlp"},
    {"llama4", "moe_intermediate_size", "intermediate_size"},
    {"lfm2moe", "num_local_experts", "num_experts"},
    {"glm4moe", "num_local_experts", "n_routed_experts"},
    {"dots1", "num_local_experts", "n_routed_experts"},
    {"starcoder", "layer_norm_eps", "layer_norm_epsilon"},
    {"mamba", "rms_norm_eps", "layer_norm_epsilon"},
    {"mamba2", "rms_norm_eps", "layer_norm_epsilon"},
    {"granite", "logit_scale", "logits_scaling"},
    {"granitemoe", "logit_scale", "logits_scaling"},
    {"granitehybrid", "logit_scale", "logits_scaling"},
    {"granitehybrid", "shared_expert_intermediate_size", "shared_intermediate_size"},
    {"granitehybrid", "conv_kernel", "mamba_d_conv"},
    {"granitehybrid", "state_size", "mamba_d_state"},
    {"granitehybrid", "n_groups", "mamba_n_groups"},
    {"qwen2moe", "num_local_experts", "num_experts"},
    {"qwen3moe", "num_local_experts", "num_experts"},
    {"olmoe", "num_local_experts", "num_experts"},
    {"deepseek", "num_local_experts", "n_routed_experts"},
    {"deepseek2", "num_local_experts", "n_routed_experts"},
    {"jamba", "num_local_experts", "num_experts"},
    {"jamba", "conv_kernel", "mamba_d_conv"},
    {"jamba", "state_size", "mamba_d_state"},
    {"falcon-h1", "conv_kernel", "mamba_d_conv"},
    {"falcon-h1", "state_size", "mamba_d_state"},
    {"falcon-h1", "n_groups", "mamba_n_groups"},
    {"qwen3next", "num_local_experts", "num_experts"},
    {"qwen3next", "conv_kernel", "linear_conv_kernel_dim"},
    {"qwen3next", "state_size", "linear_key_head_dim"},
    {"qwen3next", "n_groups", "linear_num_key_heads"},
    {"nemotron_h", "rms_norm_eps", "layer_norm_epsilon"},
    {"nemotron_h", "state_size", "ssm_state_size"},
    {"nemotron_h", "num_local_experts", "n_routed_experts"},
    {"nemotron_h", "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"},
    {"nemotron_h_moe", "rms_norm_eps", "layer_norm_epsilon"},
    {"nemotron_h_moe", "state_size", "ssm_state_size"},
    {"nemotron_h_moe", "num_local_experts", "n_routed_experts"},
    {"nemotron_h_moe", "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"},
    {"t5", "num_hidden_layers", "num_layers"},
    {"t5", "max_position_embeddings", "n_positions"},
    {"t5", "hidden_size", "d_model"},
    {"t5", "intermediate_size", "d_ff"},
    {"t5", "num_attention_heads", "num_heads"},
    {"t5", "rms_norm_eps", "layer_norm_epsilon"},
    {"t5encoder", "num_hidden_layers", "num_layers"},
    {"t5encoder", "max_position_embeddings", "n_positions"},
    {"t5encoder", "hidden_size", "d_model"},
    {"t5encoder", "intermediate_size", "d_ff"},
    {"t5encoder", "num_attention_heads", "num_heads"},
    {"t5encoder", "rms_norm_eps", "layer_norm_epsilon"},
};

struct Period {
  std::string_view architecture;
  int period;
};
constexpr Period kPeriods[] = {{"gemma2", 2}, {"gemma3", 6},  {"gemma-embedding", 6}, {"gemma3n", 5},
                               {"gemma4", 6}, {"cohere2", 4}, {"gpt-oss", 2}};

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

std::string_view family_spelling(std::string_view gguf_architecture, std::string_view hf) {
  for (const Spelling& row : kSpellings) {
    if (row.architecture == gguf_architecture && row.hf == hf) return row.family;
  }
  return hf;
}

int window_period(std::string_view gguf_architecture) {
  for (const Period& row : kPeriods) {
    if (row.architecture == gguf_architecture) return row.period;
  }
  return 0;
}

}  // namespace wick
