#pragma once

#include "models/config_reader.h"
#include "models/decoder_config.h"

namespace wick {

// One function per family: config.json to the settings of the decoder. Each is in the file of its name and listed in
// models/registry.cpp.

// What most families share, read from the common keys: Llama as it is.
DecoderConfig llama_config(const ConfigReader& config);

DecoderConfig cohere_config(const ConfigReader& config);
DecoderConfig falcon_config(const ConfigReader& config);
DecoderConfig gemma_config(const ConfigReader& config);
DecoderConfig gemma2_config(const ConfigReader& config);
DecoderConfig gemma3_config(const ConfigReader& config);
DecoderConfig glm_config(const ConfigReader& config);
DecoderConfig gpt2_config(const ConfigReader& config);
DecoderConfig gpt_neox_config(const ConfigReader& config);
DecoderConfig gpt_oss_config(const ConfigReader& config);
DecoderConfig granite_config(const ConfigReader& config);
DecoderConfig interleaved_config(const ConfigReader& config);
DecoderConfig lfm2_config(const ConfigReader& config);
DecoderConfig mistral_config(const ConfigReader& config);
DecoderConfig mixtral_config(const ConfigReader& config);
DecoderConfig olmo_config(const ConfigReader& config);
DecoderConfig olmo2_config(const ConfigReader& config);
DecoderConfig olmoe_config(const ConfigReader& config);
DecoderConfig phi_config(const ConfigReader& config);
DecoderConfig phi3_config(const ConfigReader& config);
DecoderConfig qwen2_config(const ConfigReader& config);
DecoderConfig qwen2_moe_config(const ConfigReader& config);
DecoderConfig qwen3_config(const ConfigReader& config);
DecoderConfig qwen3_moe_config(const ConfigReader& config);
DecoderConfig smollm3_config(const ConfigReader& config);
DecoderConfig stablelm_config(const ConfigReader& config);
DecoderConfig starcoder2_config(const ConfigReader& config);

// --- Shared by several ---

// Windows: by layer_types where given; else on every layer when there is a sliding_window.
void read_windows(const ConfigReader& config, DecoderConfig& decoder);
// Windows on all but every `period`-th layer, unless layer_types says otherwise.
void read_alternating_windows(const ConfigReader& config, DecoderConfig& decoder, int64_t period);
// Experts as Qwen describes them: num_experts, num_experts_per_tok, moe_intermediate_size, norm_topk_prob.
MoeConfig read_experts(const ConfigReader& config, const DecoderConfig& decoder, bool renormalize);
// Every layer sparse but those that mlp_only_layers and decoder_sparse_step leave out.
void read_sparse_layers(const ConfigReader& config, DecoderConfig& decoder);
// LayerNorm with bias under its own epsilon.
void use_layer_norm(const ConfigReader& config, DecoderConfig& decoder);

}  // namespace wick
