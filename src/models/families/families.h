#pragma once

#include "models/config_reader.h"
#include "models/decoder/decoder_config.h"

namespace wick {

// One function per family: config.json to the settings of the decoder. Each is in the file of its name and listed in
// models/registry.cpp.

// What most families share, read from the common keys: Llama as it is.
DecoderConfig llama_config(const ConfigReader& config);

DecoderConfig apertus_config(const ConfigReader& config);
DecoderConfig arcee_config(const ConfigReader& config);
DecoderConfig bitnet_config(const ConfigReader& config);
DecoderConfig bloom_config(const ConfigReader& config);
DecoderConfig cohere_config(const ConfigReader& config);
DecoderConfig deepseek_v2_config(const ConfigReader& config);
DecoderConfig deepseek_v3_config(const ConfigReader& config);
DecoderConfig diffllama_config(const ConfigReader& config);
DecoderConfig dots1_config(const ConfigReader& config);
DecoderConfig ernie4_5_moe_config(const ConfigReader& config);
DecoderConfig exaone4_config(const ConfigReader& config);
DecoderConfig falcon_config(const ConfigReader& config);
DecoderConfig gemma2_config(const ConfigReader& config);
DecoderConfig gemma3_config(const ConfigReader& config);
DecoderConfig gemma3n_config(const ConfigReader& config);
DecoderConfig gemma4_config(const ConfigReader& config);
DecoderConfig gemma_config(const ConfigReader& config);
DecoderConfig glm4_config(const ConfigReader& config);
DecoderConfig glm4_moe_config(const ConfigReader& config);
DecoderConfig glm_config(const ConfigReader& config);
DecoderConfig gpt2_config(const ConfigReader& config);
DecoderConfig gpt_bigcode_config(const ConfigReader& config);
DecoderConfig gpt_neo_config(const ConfigReader& config);
DecoderConfig gpt_neox_config(const ConfigReader& config);
DecoderConfig gpt_oss_config(const ConfigReader& config);
DecoderConfig gptj_config(const ConfigReader& config);
DecoderConfig granite_config(const ConfigReader& config);
DecoderConfig granitemoe_config(const ConfigReader& config);
DecoderConfig hunyuan_v1_dense_config(const ConfigReader& config);
DecoderConfig interleaved_config(const ConfigReader& config);
DecoderConfig lfm2_config(const ConfigReader& config);
DecoderConfig lfm2_moe_config(const ConfigReader& config);
DecoderConfig llama4_config(const ConfigReader& config);
DecoderConfig minimax_m2_config(const ConfigReader& config);
DecoderConfig ministral3_config(const ConfigReader& config);
DecoderConfig mistral_config(const ConfigReader& config);
DecoderConfig mixtral_config(const ConfigReader& config);
DecoderConfig mpt_config(const ConfigReader& config);
DecoderConfig nanochat_config(const ConfigReader& config);
DecoderConfig nemotron_config(const ConfigReader& config);
DecoderConfig olmo2_config(const ConfigReader& config);
DecoderConfig olmo_config(const ConfigReader& config);
DecoderConfig olmoe_config(const ConfigReader& config);
DecoderConfig opt_config(const ConfigReader& config);
DecoderConfig persimmon_config(const ConfigReader& config);
DecoderConfig phi3_config(const ConfigReader& config);
DecoderConfig phi_config(const ConfigReader& config);
DecoderConfig phimoe_config(const ConfigReader& config);
DecoderConfig qwen2_config(const ConfigReader& config);
DecoderConfig qwen2_moe_config(const ConfigReader& config);
DecoderConfig qwen2_5_vl_config(const ConfigReader& config);
DecoderConfig qwen3_config(const ConfigReader& config);
DecoderConfig qwen3_moe_config(const ConfigReader& config);
DecoderConfig qwen3_vl_config(const ConfigReader& config);
DecoderConfig qwen3_vl_moe_config(const ConfigReader& config);
DecoderConfig seed_oss_config(const ConfigReader& config);
DecoderConfig smollm3_config(const ConfigReader& config);
DecoderConfig stablelm_config(const ConfigReader& config);
DecoderConfig starcoder2_config(const ConfigReader& config);
DecoderConfig vaultgemma_config(const ConfigReader& config);

// Families with recurrent mixers, in families/recurrent.
DecoderConfig bamba_config(const ConfigReader& config);
DecoderConfig falcon_h1_config(const ConfigReader& config);
DecoderConfig granitemoehybrid_config(const ConfigReader& config);
DecoderConfig jamba_config(const ConfigReader& config);
DecoderConfig mamba2_config(const ConfigReader& config);
DecoderConfig mamba_config(const ConfigReader& config);
DecoderConfig nemotron_h_config(const ConfigReader& config);
DecoderConfig qwen3_5_config(const ConfigReader& config);
DecoderConfig qwen3_next_config(const ConfigReader& config);
DecoderConfig recurrent_gemma_config(const ConfigReader& config);
DecoderConfig rwkv_config(const ConfigReader& config);
DecoderConfig xlstm_config(const ConfigReader& config);

// --- Shared by several ---

inline constexpr int64_t kMostOfAnything = int64_t{1} << 24;  // products of two stay far from overflow
// Gives `value` back when it is from 1 to `most`, else throws Error(kBadFile) naming the setting.
int64_t checked_setting(std::string_view name, int64_t value, int64_t most = kMostOfAnything);

// A count from 0 to 2^24, so that sums and products of two stay far from overflow. Throws Error(kBadFile) naming it.
int64_t count_setting(const ConfigReader& config, std::string_view name, int64_t fallback);
// Windows: by layer_types where given; else on every layer when there is a sliding_window.
void read_windows(const ConfigReader& config, DecoderConfig& decoder);
// Windows on all but every `period`-th layer, unless layer_types says otherwise.
void read_alternating_windows(const ConfigReader& config, DecoderConfig& decoder, int64_t period);
// Experts as Qwen describes them: num_experts, num_experts_per_tok, moe_intermediate_size, norm_topk_prob.
MoeConfig read_experts(const ConfigReader& config, const DecoderConfig& decoder, bool renormalize);
// Every layer sparse but those that mlp_only_layers and decoder_sparse_step leave out.
void read_sparse_layers(const ConfigReader& config, DecoderConfig& decoder);
// Experts as DeepSeek V3 and those after it choose: the sigmoid of each score, a bias for choosing, groups.
MoeConfig read_sigmoid_experts(const ConfigReader& config, const DecoderConfig& decoder);
// n_shared_experts, side by side as one.
void read_shared_experts(const ConfigReader& config, MoeConfig& moe);
// Sparse layers behind the first ones, as many as the setting says.
void read_dense_beginning(const ConfigReader& config, DecoderConfig& decoder, std::string_view setting);
// num_nextn_predict_layers behind the others, as DeepSeek V3 names their parts; the first is used.
void read_mtp(const ConfigReader& config, DecoderConfig& decoder);
// Gemma's two: of layers that see everything, and of those with a window.
std::vector<RopeConfig> gemma_ropes(const ConfigReader& config, const DecoderConfig& decoder);
// No layer rotates queries and keys.
void rotate_nothing(DecoderConfig& decoder);
// A share of each head turns where config.json does not say how much.
void rotate_part(const ConfigReader& config, DecoderConfig& decoder, double share);
// The slopes of ALiBi: powers of 2^(-8/n) for the largest power of two n <= heads, then every other power between.
std::vector<float> alibi_slopes(int64_t heads);
// LayerNorm with bias under its own epsilon.
void use_layer_norm(const ConfigReader& config, DecoderConfig& decoder);

}  // namespace wick
