#include "formats/names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "formats/architectures.h"
#include "formats/checkpoint.h"
#include "support/reference_models.h"
#include "support/tiny_models.h"

namespace wick {
namespace {

TEST(Names, KnownPairs) {
  struct Pair {
    std::string_view architecture, hf, gguf;
  };
  constexpr Pair kPairs[] = {
      {"llama", "model.embed_tokens.weight", "token_embd.weight"},
      {"llama", "lm_head.weight", "output.weight"},
      {"llama", "model.layers.17.self_attn.q_proj.weight", "blk.17.attn_q.weight"},
      {"mistral", "model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"},
      {"qwen2", "model.layers.3.self_attn.k_proj.bias", "blk.3.attn_k.bias"},
      {"qwen3", "model.layers.3.self_attn.q_norm.weight", "blk.3.attn_q_norm.weight"},
      {"qwen2_moe", "model.layers.1.mlp.shared_expert_gate.weight", "blk.1.ffn_gate_inp_shexp.weight"},
      {"gemma", "model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight"},
      {"gemma2", "model.layers.0.post_attention_layernorm.weight", "blk.0.post_attention_norm.weight"},
      {"gemma3_text", "model.layers.0.pre_feedforward_layernorm.weight", "blk.0.ffn_norm.weight"},
      {"phi", "model.layers.2.mlp.fc1.bias", "blk.2.ffn_up.bias"},
      {"phi3", "model.layers.2.mlp.gate_up_proj.weight", "blk.2.ffn_up.weight"},
      {"gpt2", "transformer.h.11.attn.c_attn.weight", "blk.11.attn_qkv.weight"},
      {"gpt_neox", "embed_out.weight", "output.weight"},
      {"falcon", "transformer.h.5.ln_attn.bias", "blk.5.attn_norm_2.bias"},
      {"olmo2", "model.layers.0.post_feedforward_layernorm.weight", "blk.0.post_ffw_norm.weight"},
      {"starcoder2", "model.layers.0.mlp.c_fc.weight", "blk.0.ffn_up.weight"},
      {"deepseek_v3", "model.layers.4.self_attn.kv_a_proj_with_mqa.weight", "blk.4.attn_kv_a_mqa.weight"},
      {"deepseek_v3", "model.layers.4.self_attn.k_b_proj.weight", "blk.4.attn_k_b.weight"},
      {"deepseek_v3", "model.layers.4.mlp.gate.e_score_correction_bias", "blk.4.exp_probs_b.bias"},
      {"gpt_oss", "model.layers.4.self_attn.sinks", "blk.4.attn_sinks.weight"},
      {"lfm2", "model.layers.0.conv.conv.weight", "blk.0.shortconv.conv.weight"},
      {"mamba", "backbone.layers.0.mixer.A_log", "blk.0.ssm_a"},
      {"mamba2", "backbone.layers.0.mixer.dt_bias", "blk.0.ssm_dt.bias"},
  };
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(cat(pair.architecture, " ", pair.hf));
    EXPECT_EQ(gguf_name(pair.architecture, pair.hf), pair.gguf);
    EXPECT_EQ(hf_name(pair.architecture, pair.gguf), pair.hf);
  }
}

TEST(Names, ExpertsAreSlicesOfStacks) {
  const auto matches = gguf_matches("mixtral", "model.layers.5.block_sparse_moe.experts.7.w1.weight");
  ASSERT_GE(matches.size(), 2u);
  EXPECT_EQ(matches[0].name, "blk.5.ffn_gate_exps.weight");
  EXPECT_EQ(matches[0].expert, 7);
  EXPECT_EQ(matches[1].name, "blk.5.ffn_gate.7.weight");  // files of 2023
  EXPECT_EQ(matches[1].expert, std::nullopt);
  EXPECT_EQ(hf_name("qwen3moe", "blk.5.ffn_gate_exps.weight"), "model.layers.5.mlp.experts.gate_proj.weight");
  const auto stack = gguf_matches("qwen3_moe", "model.layers.5.mlp.experts.gate_proj.weight");
  ASSERT_FALSE(stack.empty());
  EXPECT_EQ(stack[0].name, "blk.5.ffn_gate_exps.weight");
  EXPECT_EQ(stack[0].expert, std::nullopt);
  EXPECT_EQ(hf_name("llama", "blk.5.ffn_down.7.weight"), "model.layers.5.block_sparse_moe.experts.7.w2.weight");
}

TEST(Names, ChangesOfBytes) {
  const auto change = [](std::string_view architecture, std::string_view name) {
    return gguf_matches(architecture, name).at(0).change;
  };
  EXPECT_EQ(change("llama", "model.layers.0.self_attn.q_proj.weight"), ByteChange::kRotaryQuery);
  EXPECT_EQ(change("llama", "model.layers.0.self_attn.k_proj.bias"), ByteChange::kRotaryKey);
  EXPECT_EQ(change("llama", "model.layers.0.self_attn.v_proj.weight"), ByteChange::kSame);
  for (const std::string_view plain : {"qwen3", "cohere", "gemma2", "phi", "starcoder2"}) {
    EXPECT_EQ(change(plain, "model.layers.0.self_attn.q_proj.weight"), ByteChange::kSame) << plain;
  }
  for (const std::string_view paired : {"olmo", "granite", "smollm3", "arcee"}) {
    EXPECT_EQ(change(paired, "model.layers.0.self_attn.q_proj.weight"), ByteChange::kRotaryQuery) << paired;
  }
  EXPECT_EQ(change("gemma3", "model.norm.weight"), ByteChange::kPlusOne);
  EXPECT_EQ(change("nemotron", "model.norm.bias"), ByteChange::kSame);
}

TEST(Names, WhatIsNotInTheTable) {
  EXPECT_EQ(gguf_name("llama", "model.layers.x.self_attn.q_proj.weight"), std::nullopt);
  EXPECT_EQ(gguf_name("llama", "model.layers.0.self_attn.q_proj"), std::nullopt);
  EXPECT_EQ(gguf_name("llama", ""), std::nullopt);
  EXPECT_EQ(gguf_name("no such thing", "model.norm.weight"), std::nullopt);
  EXPECT_EQ(hf_name("qwen3", "blk.0.attn_q.scale"), std::nullopt);
  EXPECT_EQ(find_architecture("no such thing"), nullptr);
}

// To GGUF and back, until it is the same tensor again.
void expect_mapped(std::string_view architecture, const std::string& name) {
  const auto gguf = gguf_name(architecture, name);
  ASSERT_TRUE(gguf) << name;
  const auto back = hf_matches(architecture, *gguf);
  const bool found = std::any_of(back.begin(), back.end(), [&](const NameMatch& match) {
    const auto again = gguf_name(architecture, match.name);
    return match.name == name || again == gguf;
  });
  EXPECT_TRUE(found) << name << " -> " << *gguf;
  // The numbered names of experts come back without the number.
  if (!gguf_matches(architecture, name).front().expert && !is_part(gguf_matches(architecture, name).front().change)) {
    EXPECT_TRUE(std::any_of(back.begin(), back.end(), [&](const NameMatch& match) { return match.name == name; }))
        << name << " -> " << *gguf;
  }
}

TEST(Names, EveryTensorOfTinyModelsGoesThereAndBack) {
  for (const TinyModel& model : tiny_models()) {
    SCOPED_TRACE(model.family);
    const std::string type = Json::parse(model.config, "config").at("model_type").as_text();
    for (const TinyTensor& tensor : model.tensors) expect_mapped(type, tensor.name);
  }
}

TEST(Names, EveryTensorOfTheFixturesGoesThereAndBack) {
  int models = 0;
  for (const auto& folder : text_model_folders()) {
    const std::string type = Json::load(folder / "config.json").get("model_type", "");
    if (!find_architecture(type)) continue;
    SCOPED_TRACE(folder);
    const Checkpoint file = Checkpoint::open(folder);
    for (const TensorEntry& entry : file.entries()) expect_mapped(type, entry.name);
    ++models;
  }
  if (models == 0) GTEST_SKIP() << "no model fixtures here";
}

}  // namespace
}  // namespace wick
