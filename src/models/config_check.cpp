#include "models/config_check.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

// Training, generation, bookkeeping and the kernels of other programs. Names are whole.
constexpr std::string_view kWithoutEffect[] = {
    "altup_coef_clip",
    "architectures",
    "attention_softmax_in_fp32",
    "attn_impl",
    "attn_implementation",
    "auto_map",
    "autocast_kernel_dtype",
    "bad_words_ids",
    "bos_token",
    "dtype",
    "embd_layer_norm_eps",
    "eos_token",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "fp16_scale",
    "gradient_checkpointing",
    "head_bias",
    "id2label",
    "init_device",
    "init_method",
    "init_method_std",
    "init_std",
    "is_decoder",
    "keys_to_ignore_at_inference",
    "label2id",
    "lambda_std_dev",
    "layerdrop",
    "max_length",
    "max_seq_len",
    "max_seq_length",
    "max_window_layers",
    "mlp_init_std",
    "model_max_length",
    "model_type",
    "n_ctx",
    "num_labels",
    "num_logits_to_keep",
    "num_nextn_predict_layers",
    "original_max_position_embeddings",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_router_logits",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "quantization_config",
    "reorder_and_upcast_attn",
    "return_dict",
    "return_dict_in_generate",
    "router_aux_loss_coef",
    "scale_attention_softmax_in_fp32",
    "slow_but_exact",
    "task_specific_params",
    "temperature",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "typical_p",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
    "use_flash_attention",
    "use_flash_attn",
    "vocab_size",
    "z_loss_coefficient",
};
constexpr std::string_view kEndsWithoutEffect[] = {"_token_id", "_token_ids", "_pdrop", "_loss_coef"};
constexpr std::string_view kPartsWithoutEffect[] = {"dropout", "initializer", "w_init_"};

// What changes the computation of any decoder, whatever its family.
constexpr std::string_view kMatters[] = {
    "add_cross_attention",
    "alibi",
    "altup_num_inputs",
    "apply_residual_connection_post_layernorm",
    "attention_chunk_size",
    "attention_k_eq_v",
    "attention_multiplier",
    "attn_logit_softcap",
    "attn_logit_softcapping",
    "attn_temperature_tuning",
    "clip_qkv",
    "embedding_multiplier",
    "enable_moe_block",
    "final_logit_softcapping",
    "hidden_size_per_layer_input",
    "key_multiplier",
    "kv_lora_rank",
    "laurel_rank",
    "lm_head_multiplier",
    "logit_scale",
    "logits_scaling",
    "logits_soft_cap",
    "n_shared_experts",
    "num_kv_shared_layers",
    "per_layer_config",
    "qk_layernorm",
    "query_pre_attn_scalar",
    "residual_multiplier",
    "rope_interleave",
    "rope_interleaved",
    "routed_scaling_factor",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "shared_intermediate_size",
    "swiglu_limit",
    "topk_group",
    "use_alibi",
    "use_bidirectional_attention",
    "use_double_wide_mlp",
    "use_qk_norm",
};

// Settings whose neutral value is not the usual one.
constexpr std::string_view kNeutralWhenTrue[] = {"do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine",
                                                 "scale_attn_weights",   "is_causal",   "causal"};
constexpr std::string_view kNeutralWhenOne[] = {"n_group", "topk_group", "lm_head_multiplier", "embedding_multiplier"};
// Of a scale in place of 1 / sqrt(head_dim) no value is neutral.
constexpr std::string_view kNeverNeutral[] = {"attention_multiplier", "query_pre_attn_scalar", "softmax_scale",
                                              "attention_scale", "attn_scale"};
constexpr std::string_view kScales[] = {"_multiplier", "_multipliers", "_scale", "_scaling", "_factor"};

constexpr std::string_view kBlocks[] = {"rope_parameters", "rope_scaling", "attn_config"};
constexpr std::string_view kBlockWithoutEffect[] = {"finetuned", "max_position_embeddings", "mrope_interleaved",
                                                    "mrope_section"};

template <size_t kCount>
bool is_one_of(std::string_view name, const std::string_view (&names)[kCount]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_neutral(std::string_view name, const Json& value) {
  if (value.is_null()) return true;
  if (is_one_of(name, kNeverNeutral)) return false;
  if (value.is_bool()) return value.as_bool() == is_one_of(name, kNeutralWhenTrue);
  if (value.is_number()) {
    const bool is_scale = is_one_of(name, kNeutralWhenOne) ||
                          std::any_of(std::begin(kScales), std::end(kScales),
                                      [&](std::string_view ending) { return name.ends_with(ending); });
    return value.as_number() == (is_scale ? 1 : 0);
  }
  if (value.is_text()) return value.as_text().empty() || value.as_text() == "none" || value.as_text() == "default";
  if (value.is_object()) return value.as_object().empty();
  const auto& items = value.as_array();
  return std::all_of(items.begin(), items.end(), [&](const Json& item) { return is_neutral(name, item); });
}

Error not_understood(const ConfigReader& config, const Json& setting, bool is_inferred) {
  const std::string type = config.text("model_type", "");
  return {ErrorCode::kUnsupported,
          is_inferred ? cat("the model_type '", type, "' is not known, and ", setting.place(),
                            " may change what the model computes in a way that Wick does not know")
                      : cat(setting.place(), " changes what the model computes in a way that Wick does not know of a '",
                            type, "'")};
}

void check_block(const ConfigReader& config, const Json& block, bool is_inferred) {
  if (!block.is_object()) return;
  for (const auto& [name, value] : block.as_object()) {
    if (value.is_object()) {
      if (config.was_read(value)) check_block(config, value, is_inferred);
      continue;
    }
    if (config.was_read(value) || is_one_of(name, kBlockWithoutEffect) || is_without_effect(name) ||
        is_neutral(name, value))
      continue;
    throw not_understood(config, value, is_inferred);
  }
}

}  // namespace

bool is_without_effect(std::string_view name) {
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return name.starts_with('_') || name.starts_with("summary_") || is_one_of(name, kWithoutEffect) ||
         std::any_of(std::begin(kEndsWithoutEffect), std::end(kEndsWithoutEffect), ends) ||
         std::any_of(std::begin(kPartsWithoutEffect), std::end(kPartsWithoutEffect), has);
}

void check_settings(const ConfigReader& config, bool is_inferred) {
  for (const auto& [name, value] : config.json().as_object()) {
    if (is_one_of(name, kBlocks)) {
      check_block(config, value, is_inferred);
      continue;
    }
    if (config.was_read(value) || is_neutral(name, value)) continue;
    if (is_inferred ? !is_without_effect(name) : is_one_of(name, kMatters))
      throw not_understood(config, value, is_inferred);
  }
}

}  // namespace wick
