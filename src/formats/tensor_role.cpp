#include "formats/tensor_role.h"

namespace wick {
namespace {

using enum TensorRole;

struct NamePart {
  std::string_view part;
  TensorRole role;
};
// The first line whose part occurs in the name decides.
constexpr NamePart kParts[] = {
    {"norm", kKeep},
    {".ln", kKeep},
    {"ln_f", kKeep},
    {"ffn_gate_inp", kKeep},
    {"mlp.gate.", kKeep},
    {"block_sparse_moe.gate.", kKeep},
    {"shared_expert_gate", kKeep},
    {"router", kKeep},
    {"exp_probs_b", kKeep},
    {"conv1d", kKeep},
    {"shortconv.conv.", kKeep},
    {"conv.conv.", kKeep},
    {"position_embd", kKeep},
    {"wpe.", kKeep},
    {"rope_f", kKeep},
    {"A_log", kKeep},
    {"time_mix_w", kKeep},
    {"time_mix_a", kKeep},
    {"time_mix_v", kKeep},
    {"time_mix_g1", kKeep},
    {"time_mix_g2", kKeep},
    {"time_mix_decay", kKeep},
    {"time_mix_first", kKeep},
    {"time_mix_lerp", kKeep},
    {"token_embd", kEmbedding},
    {"embed_tokens", kEmbedding},
    {"word_embeddings", kEmbedding},
    {"wte.", kEmbedding},
    {"embed_in.", kEmbedding},
    {"backbone.embeddings", kEmbedding},
    {"lm_head", kOutput},
    {"embed_out", kOutput},
    {"attn_qkv", kValue},
    {"qkv_proj", kValue},
    {"query_key_value", kValue},
    {"c_attn", kValue},
    {"attn_kv_b", kValue},
    {"kv_b_proj", kValue},
    {"attn_v.", kValue},
    {".v_proj.", kValue},
    {"attn_k.", kKey},
    {".k_proj.", kKey},
    {"attn_q.", kQuery},
    {".q_proj.", kQuery},
    {"attn_output", kAttentionOutput},
    {".o_proj.", kAttentionOutput},
    {"attn.c_proj", kAttentionOutput},
    {"attention.dense", kAttentionOutput},
    {"self_attn.dense", kAttentionOutput},
    {"self_attn.out_proj", kAttentionOutput},
    {"ffn_down", kDown},
    {"down_proj", kDown},
    {"dense_4h_to_h", kDown},
    {"mlp.c_proj", kDown},
    {"mlp.fc2", kDown},
    {".w2.", kDown},
    {"output_linear", kDown},
    {"_exps.", kExperts},
    {".experts.", kExperts},
    {"input_linear", kExperts},
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool is_expert(std::string_view name) {
  return contains(name, "_exps.") || contains(name, ".experts.") || contains(name, "block_sparse_moe.input_linear") ||
         contains(name, "block_sparse_moe.output_linear");
}

TensorRole tensor_role(std::string_view name, const Shape& shape) {
  const bool stacked_weight = name.ends_with(".gate_up_proj") || name.ends_with(".down_proj");
  if (shape.rank() < 2 || shape.rank() > 3 || (!name.ends_with(".weight") && !stacked_weight)) return kKeep;
  if (name == "output.weight") return kOutput;
  for (const NamePart& row : kParts) {
    if (contains(name, row.part)) return row.role;
  }
  return kOther;
}

std::optional<int64_t> layer_of(std::string_view name) {
  for (const std::string_view before : {"blk.", "layers.", "h.", "blocks."}) {
    const size_t start = name.find(before);
    if (start == std::string_view::npos) continue;
    int64_t layer = 0;
    size_t digits = 0;
    for (size_t i = start + before.size(); i < name.size() && digits < 6; ++i, ++digits) {
      if (name[i] < '0' || name[i] > '9') break;
      layer = layer * 10 + (name[i] - '0');
    }
    if (digits > 0) return layer;
  }
  return std::nullopt;
}

}  // namespace wick
