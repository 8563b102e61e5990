#include "support/tiny_models.h"

#include <fstream>
#include <stdexcept>

#include "base/text.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_export.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/safetensors/safetensors_writer.h"
#include "formats/weights.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Tensors = std::vector<TinyTensor>;
constexpr int kLayers = 2;

constexpr std::string_view kCommon =
    R"("hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
       "num_key_value_heads": 2, "max_position_embeddings": 128, "vocab_size": 40, "rope_theta": 10000.0)";

// `layer` holds lines as they stand behind `prefix` and the number.
Tensors with_layers(Tensors top, std::string_view prefix, const Tensors& layer) {
  for (int i = 0; i < kLayers; ++i) {
    for (const TinyTensor& tensor : layer) top.push_back({cat(prefix, i, ".", tensor.name), tensor.shape});
  }
  return top;
}

Tensors attention(bool bias = false) {
  Tensors tensors = {{"self_attn.q_proj.weight", {64, 64}}, {"self_attn.k_proj.weight", {32, 64}},
                     {"self_attn.v_proj.weight", {32, 64}}, {"self_attn.o_proj.weight", {64, 64}},
                     {"input_layernorm.weight", {64}},      {"post_attention_layernorm.weight", {64}}};
  if (bias) {
    tensors.push_back({"self_attn.q_proj.bias", {64}});
    tensors.push_back({"self_attn.k_proj.bias", {32}});
  }
  return tensors;
}

Tensors operator+(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Tensors kMlp = {
    {"mlp.gate_proj.weight", {96, 64}}, {"mlp.up_proj.weight", {96, 64}}, {"mlp.down_proj.weight", {64, 96}}};
const Tensors kTop = {
    {"model.embed_tokens.weight", {40, 64}}, {"model.norm.weight", {64}}, {"lm_head.weight", {40, 64}}};
const Tensors kTiedTop = {{"model.embed_tokens.weight", {40, 64}}, {"model.norm.weight", {64}}};

Tensors experts(std::string_view before, std::string_view gate, std::string_view up, std::string_view down) {
  Tensors tensors;
  for (int e = 0; e < 3; ++e) {
    tensors.push_back({cat(before, e, ".", gate, ".weight"), {96, 64}});
    tensors.push_back({cat(before, e, ".", up, ".weight"), {96, 64}});
    tensors.push_back({cat(before, e, ".", down, ".weight"), {64, 96}});
  }
  return tensors;
}

std::string config(std::string_view type, std::string_view more) {
  return cat("{\"model_type\": \"", type, "\", ", kCommon, more, "}");
}

std::vector<TinyModel> make_models() {
  constexpr std::string_view kModel = "model.layers.";
  std::vector<TinyModel> models;
  models.push_back({"llama",
                    config("llama", R"(, "rms_norm_eps": 1e-5, "attention_bias": true, "tie_word_embeddings": false)"),
                    with_layers(kTop, kModel, attention(true) + kMlp)});
  models.push_back({"llama3", config("llama", R"(, "rms_norm_eps": 1e-5, "tie_word_embeddings": true, "rope_scaling": {
                      "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                      "original_max_position_embeddings": 64})"),
                    with_layers(kTiedTop, kModel, attention() + kMlp)});
  models.push_back({"qwen3", config("qwen3", R"(, "head_dim": 16, "rms_norm_eps": 1e-6, "tie_word_embeddings": true)"),
                    with_layers(kTiedTop, kModel,
                                attention() + kMlp +
                                    Tensors{{"self_attn.q_norm.weight", {16}}, {"self_attn.k_norm.weight", {16}}})});
  const std::string_view moe = R"(, "rms_norm_eps": 1e-6, "num_experts_per_tok": 2, "num_local_experts": 3)";
  models.push_back({"mixtral", config("mixtral", moe),
                    with_layers(kTop, kModel,
                                attention() + Tensors{{"block_sparse_moe.gate.weight", {3, 64}}} +
                                    experts("block_sparse_moe.experts.", "w1", "w3", "w2"))});
  models.push_back({"qwen3_moe",
                    config("qwen3_moe", cat(moe, ", \"moe_intermediate_size\": 96, \"norm_topk_prob\": true")),
                    with_layers(kTop, kModel,
                                attention() + Tensors{{"mlp.gate.weight", {3, 64}}} +
                                    experts("mlp.experts.", "gate_proj", "up_proj", "down_proj"))});
  models.push_back({"qwen3_moe-stacked",
                    config("qwen3_moe", cat(moe, ", \"moe_intermediate_size\": 96, \"norm_topk_prob\": true")),
                    with_layers(kTop, kModel,
                                attention() + Tensors{{"mlp.gate.weight", {3, 64}},
                                                      {"mlp.experts.gate_up_proj", {3, 192, 64}},
                                                      {"mlp.experts.down_proj", {3, 64, 96}}})});
  models.push_back({"granitemoe", config("granitemoe", moe),
                    with_layers(kTop, kModel,
                                attention() + Tensors{{"block_sparse_moe.router.layer.weight", {3, 64}},
                                                      {"block_sparse_moe.input_linear.weight", {3, 192, 64}},
                                                      {"block_sparse_moe.output_linear.weight", {3, 64, 96}}})});
  models.push_back({"gpt_oss", config("gpt_oss", cat(moe, R"(, "head_dim": 16, "sliding_window": 8)")),
                    with_layers(kTop, kModel,
                                attention() + Tensors{{"self_attn.sinks", {4}},
                                                      {"mlp.router.weight", {3, 64}},
                                                      {"mlp.router.bias", {3}},
                                                      {"mlp.experts.gate_up_proj", {3, 64, 192}},
                                                      {"mlp.experts.gate_up_proj_bias", {3, 192}},
                                                      {"mlp.experts.down_proj", {3, 96, 64}},
                                                      {"mlp.experts.down_proj_bias", {3, 64}}})});
  models.push_back({"gemma2", config("gemma2", R"(, "head_dim": 16, "rms_norm_eps": 1e-6, "tie_word_embeddings": true,
                      "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "sliding_window": 8)"),
                    with_layers(kTiedTop, kModel,
                                attention() + kMlp +
                                    Tensors{{"pre_feedforward_layernorm.weight", {64}},
                                            {"post_feedforward_layernorm.weight", {64}}})});
  models.push_back({"phi3", config("phi3", R"(, "rms_norm_eps": 1e-5, "original_max_position_embeddings": 64)"),
                    with_layers(kTop, kModel,
                                {{"self_attn.qkv_proj.weight", {128, 64}},
                                 {"self_attn.o_proj.weight", {64, 64}},
                                 {"mlp.gate_up_proj.weight", {192, 64}},
                                 {"mlp.down_proj.weight", {64, 96}},
                                 {"input_layernorm.weight", {64}},
                                 {"post_attention_layernorm.weight", {64}}})});
  models.push_back(
      {"stablelm",
       config("stablelm", R"(, "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.25, "qk_layernorm": true)"),
       with_layers(kTop, kModel,
                   attention() + kMlp +
                       Tensors{{"self_attn.q_layernorm.norms.0.weight", {16}},
                               {"self_attn.q_layernorm.norms.1.weight", {16}}})});
  models.push_back({"deepseek_v3", R"({"model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 96,
                      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 40,
                      "max_position_embeddings": 128, "rope_theta": 10000.0, "rms_norm_eps": 1e-6, "kv_lora_rank": 32,
                      "q_lora_rank": null, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 10,
                      "first_k_dense_replace": 2, "n_routed_experts": 3, "num_experts_per_tok": 2,
                      "moe_intermediate_size": 96, "scoring_func": "sigmoid"})",
                    with_layers(kTop, kModel,
                                kMlp + Tensors{{"self_attn.q_proj.weight", {80, 64}},
                                               {"self_attn.kv_a_proj_with_mqa.weight", {40, 64}},
                                               {"self_attn.kv_a_layernorm.weight", {32}},
                                               {"self_attn.kv_b_proj.weight", {88, 32}},
                                               {"self_attn.o_proj.weight", {64, 40}},
                                               {"input_layernorm.weight", {64}}})});
  models.push_back({"gpt2", R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 32,
                      "layer_norm_epsilon": 1e-5, "vocab_size": 40, "n_inner": null, "tie_word_embeddings": true})",
                    with_layers({{"transformer.wte.weight", {40, 64}},
                                 {"transformer.wpe.weight", {32, 64}},
                                 {"transformer.ln_f.weight", {64}},
                                 {"transformer.ln_f.bias", {64}}},
                                "transformer.h.",
                                {{"attn.c_attn.weight", {64, 192}},
                                 {"attn.c_attn.bias", {192}},
                                 {"attn.c_proj.weight", {64, 64}},
                                 {"ln_1.weight", {64}},
                                 {"ln_2.bias", {64}},
                                 {"mlp.c_fc.weight", {64, 256}},
                                 {"mlp.c_proj.weight", {256, 64}}})});
  models.push_back({"gpt_neox", config("gpt_neox", R"(, "layer_norm_eps": 1e-5, "rotary_pct": 0.25)"),
                    with_layers({{"gpt_neox.embed_in.weight", {40, 64}},
                                 {"gpt_neox.final_layer_norm.weight", {64}},
                                 {"embed_out.weight", {40, 64}}},
                                "gpt_neox.layers.",
                                {{"attention.query_key_value.weight", {192, 64}},
                                 {"attention.query_key_value.bias", {192}},
                                 {"attention.dense.weight", {64, 64}},
                                 {"mlp.dense_h_to_4h.weight", {96, 64}},
                                 {"mlp.dense_4h_to_h.weight", {64, 96}},
                                 {"input_layernorm.weight", {64}}})});
  const Tensors falcon = {{"self_attention.dense.weight", {64, 64}},
                          {"mlp.dense_h_to_4h.weight", {256, 64}},
                          {"mlp.dense_4h_to_h.weight", {64, 256}}};
  const Tensors falcon_top = {{"transformer.word_embeddings.weight", {40, 64}}, {"transformer.ln_f.weight", {64}}};
  const std::string_view falcon_config =
      R"({"model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 40,
          "layer_norm_epsilon": 1e-5, "tie_word_embeddings": true, "num_kv_heads": 2, )";
  models.push_back({"falcon", cat(falcon_config, R"("multi_query": true, "new_decoder_architecture": false})"),
                    with_layers(falcon_top, "transformer.h.",
                                falcon + Tensors{{"self_attention.query_key_value.weight", {96, 64}},
                                                 {"input_layernorm.weight", {64}}})});
  models.push_back({"falcon-new", cat(falcon_config, R"("multi_query": false, "new_decoder_architecture": true})"),
                    with_layers(falcon_top, "transformer.h.",
                                falcon + Tensors{{"self_attention.query_key_value.weight", {128, 64}},
                                                 {"ln_attn.weight", {64}},
                                                 {"ln_mlp.weight", {64}}})});
  models.push_back(
      {"lfm2", config("lfm2", R"(, "norm_eps": 1e-5, "conv_L_cache": 3,
                      "layer_types": ["conv", "full_attention"])"),
       with_layers({{"model.embed_tokens.weight", {40, 64}}, {"model.embedding_norm.weight", {64}}}, kModel,
                   {{"conv.conv.weight", {64, 1, 3}},
                    {"conv.in_proj.weight", {192, 64}},
                    {"conv.out_proj.weight", {64, 64}},
                    {"feed_forward.w1.weight", {96, 64}},
                    {"feed_forward.w2.weight", {64, 96}},
                    {"feed_forward.w3.weight", {96, 64}},
                    {"ffn_norm.weight", {64}},
                    {"operator_norm.weight", {64}}})});
  const Tensors mamba = {{"norm.weight", {64}},
                         {"mixer.in_proj.weight", {256, 64}},
                         {"mixer.out_proj.weight", {64, 128}},
                         {"mixer.conv1d.weight", {128, 1, 4}},
                         {"mixer.conv1d.bias", {128}}};
  const Tensors mamba_top = {{"backbone.embeddings.weight", {40, 64}}, {"backbone.norm_f.weight", {64}}};
  const std::string_view mamba_config = R"("hidden_size": 64, "num_hidden_layers": 2, "state_size": 8, "conv_kernel": 4,
      "expand": 2, "layer_norm_epsilon": 1e-5, "vocab_size": 40, "tie_word_embeddings": true)";
  models.push_back(
      {"mamba", cat(R"({"model_type": "mamba", "time_step_rank": 4, "intermediate_size": 128, )", mamba_config, "}"),
       with_layers(mamba_top, "backbone.layers.",
                   mamba + Tensors{{"mixer.A_log", {128, 8}},
                                   {"mixer.D", {128}},
                                   {"mixer.x_proj.weight", {20, 128}},
                                   {"mixer.dt_proj.weight", {128, 4}},
                                   {"mixer.dt_proj.bias", {128}}})});
  models.push_back(
      {"mamba2", cat(R"({"model_type": "mamba2", "num_heads": 8, "head_dim": 16, "n_groups": 2, )", mamba_config, "}"),
       with_layers(
           mamba_top, "backbone.layers.",
           mamba +
               Tensors{{"mixer.A_log", {8}}, {"mixer.D", {8}}, {"mixer.dt_bias", {8}}, {"mixer.norm.weight", {128}}})});
  return models;
}

}  // namespace

const std::vector<TinyModel>& tiny_models() {
  static const std::vector<TinyModel> models = make_models();
  return models;
}

const TinyModel& tiny_model(std::string_view family) {
  for (const TinyModel& model : tiny_models()) {
    if (model.family == family) return model;
  }
  throw std::out_of_range(std::string(family));
}

void write_checkpoint(const std::filesystem::path& folder, const std::string& config,
                      const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config;
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype(), tensor.shape()});
  SafetensorsWriter writer(folder / "model.safetensors", specs);
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish();
}

void write_tiny_model(const TinyModel& model, const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TinyTensor& tensor : model.tensors) tensors.emplace_back(tensor.name, randn(tensor.shape, tensors.size()));
  write_checkpoint(folder, model.config, tensors);
}

void write_gguf(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const WeightSource source(Checkpoint::open(folder));
  const auto tensors = gguf_tensors(source);
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const GgufTensor& tensor : tensors) specs.push_back({tensor.name, tensor.dtype, tensor.shape});
  GgufWriter writer(path, gguf_from_config(source.config()), specs);
  for (const GgufTensor& tensor : tensors) writer.write(tensor.name, tensor.load());
  writer.finish();
}

}  // namespace wick
