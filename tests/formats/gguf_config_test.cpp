#include "formats/gguf/gguf_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "formats/architectures.h"
#include "formats/config_keys.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/weights.h"
#include "support/errors.h"
#include "support/reference_models.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

Metadata from_text(const std::string& config) { return gguf_from_config(Json::parse(config, "config.json")); }

TEST(GgufConfig, LlamaKeys) {
  const Metadata meta = from_text(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "vocab_size": 128256})");
  EXPECT_EQ(meta.text("general.architecture"), "llama");
  EXPECT_EQ(meta.integer("llama.block_count"), 32);
  EXPECT_EQ(meta.integer("llama.context_length"), 8192);
  EXPECT_EQ(meta.integer("llama.embedding_length"), 4096);
  EXPECT_EQ(meta.integer("llama.feed_forward_length"), 14336);
  EXPECT_EQ(meta.integer("llama.attention.head_count"), 32);
  EXPECT_EQ(meta.integer("llama.attention.head_count_kv"), 8);
  EXPECT_EQ(meta.integer("llama.rope.dimension_count"), 128);
  EXPECT_EQ(meta.number("llama.rope.freq_base"), 500000);
  EXPECT_FLOAT_EQ(static_cast<float>(meta.number("llama.attention.layer_norm_rms_epsilon")), 1e-5f);
  EXPECT_EQ(meta.integer("llama.vocab_size"), 128256);
}

TEST(GgufConfig, OldAndNewSpellings) {
  const Metadata gpt2 =
      from_text(R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
    "n_inner": null, "layer_norm_epsilon": 1e-5})");
  EXPECT_EQ(gpt2.integer("gpt2.feed_forward_length"), 3072);
  EXPECT_EQ(gpt2.integer("gpt2.context_length"), 1024);
  EXPECT_EQ(gpt2.find("gpt2.rope.dimension_count"), nullptr);
  const Metadata neox = from_text(R"({"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8,
    "num_hidden_layers": 6, "rotary_pct": 0.25, "rotary_emb_base": 10000})");
  EXPECT_EQ(neox.integer("gptneox.rope.dimension_count"), 16);
  EXPECT_EQ(neox.number("gptneox.rope.freq_base"), 10000);
  const Metadata gemma = from_text(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
    "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 6, "head_dim": 32, "sliding_window": 512,
    "rope_parameters": {"full_attention": {"rope_theta": 1e6, "rope_type": "linear", "factor": 8.0},
    "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}}})");
  EXPECT_EQ(gemma.number("gemma3.rope.freq_base"), 1e6);
  EXPECT_EQ(gemma.number("gemma3.rope.freq_base_swa"), 10000);
  EXPECT_EQ(gemma.text("gemma3.rope.scaling.type"), "linear");
  EXPECT_EQ(gemma.number("gemma3.rope.scaling.factor"), 8);
  EXPECT_EQ(gemma.integer("gemma3.attention.key_length"), 32);
  const Metadata yarn =
      from_text(R"({"model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e6,
    "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}})");
  EXPECT_EQ(yarn.text("qwen3.rope.scaling.type"), "yarn");
  EXPECT_EQ(yarn.integer("qwen3.rope.scaling.original_context_length"), 32768);
}

TEST(GgufConfig, NewerGemmasAndLlama4) {
  const Metadata gemma4 = from_text(R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text",
    "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 6, "head_dim": 16, "global_head_dim": 32,
    "num_key_value_heads": 4, "num_global_key_value_heads": 2, "attention_k_eq_v": true, "intermediate_size": 96,
    "num_kv_shared_layers": 2, "use_double_wide_mlp": true, "sliding_window": 512, "top_k_experts": 3,
    "num_experts": 8}})");
  EXPECT_EQ(gemma4.integer("gemma4.attention.key_length"), 32);
  EXPECT_EQ(gemma4.integer("gemma4.attention.key_length_swa"), 16);
  EXPECT_EQ(gemma4.integer("gemma4.rope.dimension_count"), 32);
  EXPECT_EQ(gemma4.integer("gemma4.attention.shared_kv_layers"), 2);
  EXPECT_EQ(gemma4.integer("gemma4.expert_used_count"), 3);
  const auto list = [](const Metadata& meta, const std::string& key) { return meta.array(key).integers(key); };
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(list(gemma4, "gemma4.attention.sliding_window_pattern"), (Numbers{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(list(gemma4, "gemma4.attention.head_count_kv"), (Numbers{4, 4, 4, 4, 4, 2}));
  EXPECT_EQ(list(gemma4, "gemma4.feed_forward_length"), (Numbers{96, 96, 96, 96, 192, 192}));

  const Metadata gemma3n = from_text(R"({"model_type": "gemma3n_text", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 3, "intermediate_size": [128, 128, 128], "activation_sparsity_pattern": [0.95, 0.5, 0.0],
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]})");
  EXPECT_EQ(list(gemma3n, "gemma3n.feed_forward_length"), (Numbers{128, 128, 128}));
  const std::string key = "gemma3n.activation_sparsity_scale";
  const std::vector<double> deviations = gemma3n.array(key).numbers(key);
  ASSERT_EQ(deviations.size(), 3u);
  EXPECT_NEAR(deviations[0], 1.6448536, 1e-6);
  EXPECT_NEAR(deviations[1], 0, 1e-12);
  EXPECT_EQ(deviations[2], -INFINITY);

  const std::string llama4 = R"({"model_type": "llama4_text", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 4, "intermediate_size": 96, "intermediate_size_mlp": 128, "interleave_moe_layer_step": 2,
    "num_local_experts": 16)";
  const Metadata scout = from_text(llama4 + "}");
  EXPECT_EQ(scout.integer("llama4.feed_forward_length"), 128);
  EXPECT_EQ(scout.integer("llama4.expert_feed_forward_length"), 96);
  EXPECT_EQ(scout.integer("llama4.interleave_moe_layer_step"), 2);
  // GGUF has no words for these.
  EXPECT_ERROR(from_text(llama4 + R"(, "attention_chunk_size": 4096})"), kUnsupported, "attention_chunk_size");
  EXPECT_ERROR(from_text(llama4 + R"(, "no_rope_layers": [1, 0, 1, 0]})"), kUnsupported, "no_rope_layers");
  EXPECT_ERROR(from_text(llama4 + R"(, "use_qk_norm": false})"), kUnsupported, "num_local_experts");
}

TEST(GgufConfig, LatentAttention) {
  const Metadata meta = from_text(R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
    "num_key_value_heads": 128, "num_hidden_layers": 61, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
    "first_k_dense_replace": 3, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "norm_topk_prob": true})");
  EXPECT_EQ(meta.integer("deepseek2.attention.key_length"), 576);
  EXPECT_EQ(meta.integer("deepseek2.attention.key_length_mla"), 192);
  EXPECT_EQ(meta.integer("deepseek2.attention.head_count_kv"), 1);
  EXPECT_EQ(meta.integer("deepseek2.expert_gating_func"), 2);
  EXPECT_EQ(meta.integer("deepseek2.leading_dense_block_count"), 3);
  EXPECT_TRUE(meta.boolean("deepseek2.expert_weights_norm"));
}

TEST(GgufConfig, RopeFactors) {
  const auto tensors =
      rope_tensors(Json::parse(R"({"hidden_size": 256, "num_attention_heads": 2, "rope_theta": 500000.0,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192}})",
                               "config.json"));
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].name, "rope_freqs.weight");
  ASSERT_EQ(tensors[0].factors.size(), 64u);
  EXPECT_EQ(tensors[0].factors.front(), 1);
  EXPECT_EQ(tensors[0].factors.back(), 8);
  // Wavelengths 2 pi 500000^(2i / 128) from 2048 to 8192 are blended.
  for (size_t i = 0; i < 64; ++i) {
    const double wave = 2 * M_PI * std::pow(500000, static_cast<double>(i) / 64);
    if (wave > 2100 && wave < 8100) {
      EXPECT_GT(tensors[0].factors[i], 1) << i;
      EXPECT_LT(tensors[0].factors[i], 8) << i;
    }
  }
  const auto both =
      rope_tensors(Json::parse(R"({"rope_scaling": {"type": "longrope", "long_factor": [1, 2], "short_factor":
    [3, 4]}})",
                               "config.json"));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].name, "rope_factors_short.weight");
  EXPECT_EQ(both[1].factors, (std::vector<float>{3, 4}));
}

// What both sides state must be the same number after a trip through GGUF.
void expect_same_settings(const Json& before, const Json& after) {
  const std::string& type = before.at("model_type").as_text();
  const bool windowed = before.find("sliding_window") && !before.at("sliding_window").is_null();
  // GGUF tells Llama and Mistral apart by the window only, and OLMo 2 and 3 not at all.
  const std::string same = type == "mistral" && !windowed ? "llama" : type == "olmo3" ? "olmo2" : type;
  EXPECT_EQ(after.at("model_type").as_text(), same);
  for (const auto& [name, value] : before.as_object()) {
    const Json* other = after.find(name);
    const bool spelled_otherwise = name == "num_local_experts" || name == "layer_norm_eps";
    bool known = false;
    for (const ConfigKey& key : config_keys()) {
      // Nemotron H has settings of experts where there are none.
      const bool means_nothing = type == "nemotron_h" && key.gguf.starts_with("expert_");
      known = known || (key.hf == name && !means_nothing);
    }
    if (known && !value.is_null() && !spelled_otherwise && !other && value.is_number() && value.as_number() != 0) {
      ADD_FAILURE() << name << " is lost";
    }
    if (!other) continue;
    if (value.is_number() && other->is_number() && name != "query_pre_attn_scalar" && name != "num_kv_heads") {
      EXPECT_NEAR(other->as_number(), value.as_number(), 1e-6 * std::abs(value.as_number())) << name;
    }
    if (name == "layer_types" || name == "no_rope_layers") {
      ASSERT_EQ(other->as_array().size(), value.as_array().size()) << name;
      for (size_t i = 0; i < value.as_array().size(); ++i) {
        const Json &a = value.as_array()[i], &b = other->as_array()[i];
        EXPECT_TRUE(a.is_text() ? a.as_text() == b.as_text() : a.as_int() == b.as_int()) << name << " " << i;
      }
    }
  }
}

void expect_settings_survive(const std::filesystem::path& folder) {
  SCOPED_TRACE(folder.filename());
  TempFolder temp;
  write_gguf(folder, temp.path() / "model.gguf");
  const Json config = config_from_gguf(Checkpoint::open(temp.path() / "model.gguf"));
  expect_same_settings(Json::load(folder / "config.json"), config);
}

TEST(GgufConfig, TinyModelsSurviveGguf) {
  for (const TinyModel& model : tiny_models()) {
    TempFolder temp;
    write_tiny_model(model, temp.path() / model.family);
    expect_settings_survive(temp.path() / model.family);
  }
}

TEST(GgufConfig, FixturesSurviveGguf) {
  int models = 0;
  std::vector<std::string> names = {"mamba", "mamba2"};
  for (const ReferenceModel& model : kReferenceModels) names.emplace_back(model.folder);
  for (const std::string& name : names) {
    for (const auto& folder : fixture_folders(name)) {
      if (!find_architecture(Json::load(folder / "config.json").get("model_type", ""))) continue;
      expect_settings_survive(folder);
      ++models;
    }
  }
  if (models == 0) GTEST_SKIP() << "no model fixtures here";
}

TEST(GgufConfig, WhatTheFileShows) {
  TempFolder temp;
  write_tiny_model(tiny_model("llama3"), temp.path() / "llama3");
  write_gguf(temp.path() / "llama3", temp.path() / "model.gguf");
  const Json config = config_from_gguf(Checkpoint::open(temp.path() / "model.gguf"));
  EXPECT_TRUE(config.at("tie_word_embeddings").as_bool());
  EXPECT_FALSE(config.at("attention_bias").as_bool());
  EXPECT_EQ(config.at("vocab_size").as_int(), 40);
  EXPECT_EQ(config.at("rope_scaling").at("rope_type").as_text(), "longrope");
  EXPECT_EQ(config.at("rope_scaling").at("long_factor").as_array().size(), 8u);
}

TEST(GgufConfig, UnknownAndBroken) {
  EXPECT_ERROR(from_text(R"({"model_type": "rwkv"})"), kUnsupported,
               "'rwkv', for which Wick knows no architecture of GGUF");
  EXPECT_ERROR(from_text(R"({"hidden_size": 64})"), kBadFile, "model_type");
  EXPECT_ERROR(from_text(R"({"model_type": "llama", "hidden_size": 64})"), kBadFile, "num_attention_heads is 0");
  EXPECT_ERROR(from_text(R"({"model_type": "llama", "hidden_size": "64"})"), kBadFile, "'hidden_size' is text");

  TempFolder temp;
  const auto config = [&](const Metadata& meta) {
    GgufWriter writer(temp.path() / "model.gguf", meta, {{"token_embd.weight", DType::kF32, {5, 4}}});
    writer.write("token_embd.weight", zeros({5, 4}));
    writer.finish();
    return config_from_gguf(Checkpoint::open(temp.path() / "model.gguf"));
  };
  Metadata unknown;
  unknown.set_text("general.architecture", "brand\"new");
  unknown.set_u32("brand\"new.block_count", 3);
  EXPECT_EQ(config(unknown).at("model_type").as_text(), "brand\"new");
  EXPECT_EQ(config(unknown).at("num_hidden_layers").as_int(), 3);
  Metadata wrong;
  wrong.set_text("general.architecture", "llama");
  wrong.set_text("llama.block_count", "three");
  EXPECT_ERROR(config(wrong), kBadFile, "'llama.block_count' is text");
  Metadata infinite;
  infinite.set_text("general.architecture", "llama");
  infinite.set_f32("llama.rope.freq_base", INFINITY);
  EXPECT_ERROR(config(infinite), kBadFile, "rope_theta");
  Metadata further;  // GLM 4.5: the last block predicts one more token
  further.set_text("general.architecture", "glm4moe");
  further.set_u32("glm4moe.block_count", 47);
  further.set_u32("glm4moe.nextn_predict_layers", 1);
  EXPECT_EQ(config(further).at("num_hidden_layers").as_int(), 46);
  further.set_u32("glm4moe.nextn_predict_layers", 48);
  EXPECT_ERROR(config(further), kBadFile, "glm4moe.nextn_predict_layers is 48 of 47 blocks");
  EXPECT_ERROR(config(Metadata()), kBadFile, "general.architecture");
}

}  // namespace
}  // namespace wick
