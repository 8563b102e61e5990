#include "formats/gguf/ggml_names.h"

#include "base/text.h"

namespace wick {
namespace {

struct Part {
  std::string_view openai, hugging_face;
};
constexpr Part kParts[] = {
    {"encoder.positional_embedding", "encoder.embed_positions.weight"},
    {"decoder.positional_embedding", "decoder.embed_positions.weight"},
    {"decoder.token_embedding.", "decoder.embed_tokens."},
    {"encoder.ln_post.", "encoder.layer_norm."},
    {"decoder.ln.", "decoder.layer_norm."},
    {".blocks.", ".layers."},
    {".attn_ln.", ".self_attn_layer_norm."},
    {".attn.query.", ".self_attn.q_proj."},
    {".attn.key.", ".self_attn.k_proj."},
    {".attn.value.", ".self_attn.v_proj."},
    {".attn.out.", ".self_attn.out_proj."},
    {".cross_attn_ln.", ".encoder_attn_layer_norm."},
    {".cross_attn.query.", ".encoder_attn.q_proj."},
    {".cross_attn.key.", ".encoder_attn.k_proj."},
    {".cross_attn.value.", ".encoder_attn.v_proj."},
    {".cross_attn.out.", ".encoder_attn.out_proj."},
    {".mlp_ln.", ".final_layer_norm."},
    {".mlp.0.", ".fc1."},
    {".mlp.2.", ".fc2."},
};

}  // namespace

std::string hugging_face_name(std::string_view openai_name) {
  std::string name = cat("model.", openai_name);
  for (const Part& part : kParts) {
    const size_t at = name.find(part.openai);
    if (at != std::string::npos) name.replace(at, part.openai.size(), part.hugging_face);
  }
  return name;
}

}  // namespace wick
