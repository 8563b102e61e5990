#include "cli/inspect/inspect_report.h"
#include "formats/tensor_role.h"

namespace wick {
namespace {

struct NamePart {
  std::string_view part;
  std::string_view group;
};
// The first line whose part occurs in the name decides.
constexpr NamePart kParts[] = {
    {"norm", "norms"},
    {".ln", "norms"},
    {"ln_", "norms"},
    {"LayerNorm", "norms"},
    {"layer_norm", "norms"},
    {"lm_head", "output"},
    {"embed_out", "output"},
    {"classifier", "output"},
    {"token_embd", "embedding"},
    {"position_embd", "embedding"},
    {"token_types", "embedding"},
    {"embed_tokens", "embedding"},
    {"embeddings", "embedding"},
    {"wte.", "embedding"},
    {"wpe.", "embedding"},
    {"embed_in", "embedding"},
    {"embed_positions", "embedding"},
    {"shared.weight", "embedding"},
    {"ssm_", "state"},
    {"mixer.", "state"},
    {"shortconv", "state"},
    {"time_mix", "state"},
    {"attn", "attention"},
    {"attention", "attention"},
    {"SelfAttention", "attention"},
    {"EncDecAttention", "attention"},
    {"q_proj", "attention"},
    {"k_proj", "attention"},
    {"v_proj", "attention"},
    {"o_proj", "attention"},
    {"ffn", "mlp"},
    {"mlp", "mlp"},
    {"feed_forward", "mlp"},
    {"fc1", "mlp"},
    {"fc2", "mlp"},
    {"intermediate", "mlp"},
    {"DenseReluDense", "mlp"},
    {"gate_proj", "mlp"},
    {"up_proj", "mlp"},
    {"down_proj", "mlp"},
    {"output.dense", "mlp"},
    {"channel_mix", "mlp"},
};

// Whole models inside the model, by how their names begin.
constexpr NamePart kTowers[] = {
    {"vision_tower.", "vision"},
    {"vision_model.", "vision"},
    {"visual.", "vision"},
    {"model.visual.", "vision"},
    {"model.vision_tower.", "vision"},
    {"v.", "vision"},
    {"multi_modal_projector.", "vision"},
    {"mm.", "vision"},
    {"audio_tower.", "audio"},
    {"model.audio_tower.", "audio"},
    {"thinker.audio_tower.", "audio"},
    {"a.", "audio"},
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

std::string tensor_group(std::string_view name, const Shape& shape) {
  for (const auto& [begin, group] : kTowers) {
    if (name.starts_with(begin)) return std::string(group);
  }
  if (is_expert(name)) return "experts";
  if (name == "output.weight" || tensor_role(name, shape) == TensorRole::kOutput) return "output";
  for (const auto& [part, group] : kParts) {
    if (contains(name, part)) return std::string(group);
  }
  return "other";
}

}  // namespace wick
