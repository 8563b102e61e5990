#include "models/model_shapes.h"

#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr std::string_view kLlama32 =
    R"("rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
       "original_max_position_embeddings": 8192})";
constexpr std::string_view kGemma3 =
    R"("hidden_activation": "gelu_pytorch_tanh", "sliding_window": 512, "sliding_window_pattern": 6,
       "rope_local_base_freq": 10000.0, "query_pre_attn_scalar": 256)";
constexpr std::string_view kQwenMoe =
    R"("num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": true)";
constexpr std::string_view kTinyQwenMoe =
    R"("num_experts": 32, "num_experts_per_tok": 4, "moe_intermediate_size": 512, "norm_topk_prob": true)";
constexpr std::string_view kTinyMixtral = R"("num_local_experts": 8, "num_experts_per_tok": 2)";

// clang-format off
//  name              model_type   layers hidden heads kv head_dim  mlp    vocab  context  theta  tied   extra
constexpr ModelShape kShapes[] = {
    {"smollm2-135m",   "llama",       30,  576,  9, 3,  64,  1536,  49152,   8192, 1e5, true,  ""},
    {"smollm2-360m",   "llama",       32,  960, 15, 5,  64,  2560,  49152,   8192, 1e5, true,  ""},
    {"qwen3-0.6b",     "qwen3",       28, 1024, 16, 8, 128,  3072, 151936,  40960, 1e6, true,  ""},
    {"gemma3-1b",      "gemma3_text", 26, 1152,  4, 1, 256,  6912, 262144,  32768, 1e6, true,  kGemma3},
    {"tinyllama-1.1b", "llama",       22, 2048, 32, 4,  64,  5632,  32000,   2048, 1e4, false, ""},
    {"llama3.2-1b",    "llama",       16, 2048, 32, 8,  64,  8192, 128256, 131072, 5e5, true,  kLlama32},
    {"qwen3-1.7b",     "qwen3",       28, 2048, 16, 8, 128,  6144, 151936,  40960, 1e6, true,  ""},
    {"qwen3-4b",       "qwen3",       36, 2560, 32, 8, 128,  9728, 151936,  40960, 1e6, true,  ""},
    {"qwen3-8b",       "qwen3",       36, 4096, 32, 8, 128, 12288, 151936,  40960, 1e6, false, ""},
    {"llama3-8b",      "llama",       32, 4096, 32, 8, 128, 14336, 128256,   8192, 5e5, false, ""},
    {"mixtral-tiny",   "mixtral",      8,  512,  8, 4,  64,  1792,  32000,  32768, 1e6, false, kTinyMixtral},
    {"qwen3-moe-tiny", "qwen3_moe",   16, 1024, 16, 4,  64,  3072, 151936,  40960, 1e6, true,  kTinyQwenMoe},
    {"qwen3-30b-a3b",  "qwen3_moe",   48, 2048, 32, 4, 128,  6144, 151936,  40960, 1e6, false, kQwenMoe},
};
// clang-format on

}  // namespace

Json ModelShape::config() const {
  const std::string text =
      cat(R"({"model_type": ")", model_type, R"(", "num_hidden_layers": )", layers, R"(, "hidden_size": )", hidden,
          R"(, "num_attention_heads": )", heads, R"(, "num_key_value_heads": )", kv_heads, R"(, "head_dim": )",
          head_dim, R"(, "intermediate_size": )", intermediate, R"(, "vocab_size": )", vocabulary,
          R"(, "max_position_embeddings": )", context, R"(, "rope_theta": )", static_cast<int64_t>(rope_theta),
          R"(, "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": )", tied ? "true" : "false",
          extra.empty() ? "" : ", ", extra, "}");
  return Json::parse(text, cat(name, "/config.json"));
}

std::span<const ModelShape> model_shapes() { return kShapes; }

const ModelShape& model_shape(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ModelShape& shape : kShapes) {
    if (shape.name == name) return shape;
    names.push_back(shape.name);
  }
  std::string listed;
  for (const std::string_view known : names) listed += cat(listed.empty() ? "" : " ", known);
  const std::string_view near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument,
              cat("there is no shape ", in_quotes(name), near.empty() ? "" : cat(" (did you mean ", near, "?)"),
                  "; there are: ", listed));
}

}  // namespace wick
