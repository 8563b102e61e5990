#include "formats/quantize/quantize_plan.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text.h"
#include "formats/tensor_role.h"
#include "support/errors.h"

namespace wick {
namespace {

using enum DType;

// A llama with `layers` layers; rows of 4096, 11008 on the way down.
struct Model {
  std::vector<std::string> names;
  std::vector<PlannedTensor> tensors;
  PlanFacts facts;

  explicit Model(int64_t layers, int64_t heads = 32, int64_t kv_heads = 32, bool tied = false, int64_t columns = 4096) {
    facts = {"llama", layers, heads, kv_heads, 0, false, false};
    names.reserve(1000);
    const auto add = [&](std::string name, Shape shape) {
      names.push_back(std::move(name));
      tensors.push_back({names.back(), shape, kBF16});
    };
    add("token_embd.weight", {32000, columns});
    if (!tied) add("output.weight", {32000, columns});
    add("output_norm.weight", {columns});
    for (int64_t i = 0; i < layers; ++i) {
      for (const std::string_view part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up"}) {
        add(cat("blk.", i, ".", part, ".weight"), {4096, columns});
      }
      add(cat("blk.", i, ".ffn_down.weight"), {4096, columns == 4096 ? 11008 : columns});
      add(cat("blk.", i, ".attn_norm.weight"), {columns});
    }
  }

  std::map<std::string, DType> plan(std::string_view name) const {
    const auto types = QuantizePlan::named(name).choose(tensors, facts);
    std::map<std::string, DType> result;
    for (size_t i = 0; i < types.size(); ++i) result[names[i]] = types[i];
    return result;
  }
  // The layers whose tensor has this type.
  std::vector<int> layers_with(std::string_view plan_name, std::string_view part, DType type) const {
    const auto types = plan(plan_name);
    std::vector<int> layers;
    for (int i = 0; i < facts.layers; ++i) {
      if (types.at(cat("blk.", i, ".", part, ".weight")) == type) layers.push_back(i);
    }
    return layers;
  }
};

TEST(QuantizePlan, Q4KM) {
  const Model model(32);
  const auto types = model.plan("q4_k_m");
  EXPECT_EQ(types.at("output.weight"), kQ6_K);
  EXPECT_EQ(types.at("token_embd.weight"), kQ4_K);
  EXPECT_EQ(types.at("output_norm.weight"), kBF16);
  EXPECT_EQ(types.at("blk.0.attn_q.weight"), kQ4_K);
  const std::vector<int> more = {0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31};
  EXPECT_EQ(model.layers_with("q4_k_m", "attn_v", kQ6_K), more);
  EXPECT_EQ(model.layers_with("q4_k_m", "ffn_down", kQ6_K), more);
  EXPECT_EQ(model.layers_with("q5_k_m", "ffn_down", kQ6_K), more);
}

TEST(QuantizePlan, OtherMixes) {
  const Model model(32), shared(32, 32, 8);
  EXPECT_EQ(model.layers_with("q4_k_s", "attn_v", kQ5_K), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(model.layers_with("q4_k_s", "ffn_down", kQ5_K), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(model.layers_with("q3_k_m", "attn_v", kQ5_K), (std::vector<int>{0, 1}));
  EXPECT_EQ(model.layers_with("q3_k_m", "ffn_down", kQ5_K), (std::vector<int>{0, 1}));
  EXPECT_EQ(model.plan("q3_k_m").at("blk.9.ffn_down.weight"), kQ4_K);
  EXPECT_EQ(model.plan("q3_k_m").at("blk.9.attn_output.weight"), kQ4_K);
  EXPECT_EQ(model.plan("q3_k_l").at("blk.9.attn_output.weight"), kQ5_K);
  EXPECT_EQ(model.plan("q2_k").at("blk.9.attn_v.weight"), kQ3_K);
  EXPECT_EQ(shared.plan("q2_k").at("blk.9.attn_v.weight"), kQ4_K);
  EXPECT_EQ(shared.plan("iq4_xs").at("blk.9.attn_v.weight"), kQ5_K);
  EXPECT_EQ(model.plan("q8_0").at("output.weight"), kQ8_0);
  EXPECT_EQ(model.plan("q4_0").at("output.weight"), kQ6_K);
  EXPECT_EQ(model.plan("int8").at("output.weight"), kI8Channel);
  EXPECT_EQ(model.plan("f16").at("blk.0.ffn_up.weight"), kF16);
  EXPECT_EQ(model.plan("auto").at("blk.0.ffn_up.weight"), kBF16);
  EXPECT_EQ(model.plan("none").at("blk.0.ffn_up.weight"), kBF16);
}

TEST(QuantizePlan, TiedEmbeddingsAreTheOutput) {
  EXPECT_EQ(Model(32, 32, 32, true).plan("q4_k_m").at("token_embd.weight"), kQ6_K);
}

TEST(QuantizePlan, LargeAndManyExperts) {
  EXPECT_EQ(Model(80, 64, 8).plan("q4_k_s").at("blk.40.attn_v.weight"), kQ5_K);
  Model mixtral(32, 32, 8);
  mixtral.facts.experts = 8;
  const auto types = mixtral.plan("q4_k_m");
  EXPECT_EQ(types.at("blk.9.attn_v.weight"), kQ8_0);
  EXPECT_EQ(types.at("blk.9.attn_k.weight"), kQ8_0);
  EXPECT_EQ(types.at("blk.9.attn_output.weight"), kQ5_K);
}

TEST(QuantizePlan, RowsThatDoNotDivide) {
  const Model by32(4, 4, 4, false, 96), odd(4, 4, 4, false, 50);
  EXPECT_EQ(by32.plan("q4_k_m").at("blk.1.attn_q.weight"), kQ5_0);
  EXPECT_EQ(by32.plan("q4_k_m").at("output.weight"), kQ8_0);
  EXPECT_EQ(by32.plan("q5_k_m").at("blk.1.attn_q.weight"), kQ5_1);
  EXPECT_EQ(by32.plan("q6_k").at("blk.1.attn_q.weight"), kQ8_0);
  EXPECT_EQ(by32.plan("q2_k").at("blk.1.attn_q.weight"), kQ4_0);
  EXPECT_EQ(by32.plan("iq4_xs").at("blk.1.attn_q.weight"), kIQ4_NL);
  EXPECT_EQ(by32.plan("int8").at("blk.1.attn_q.weight"), kQ8_0);
  EXPECT_EQ(odd.plan("q4_0").at("blk.1.attn_q.weight"), kF16);
}

TEST(QuantizePlan, WhatIsNeverQuantised) {
  const PlanFacts facts{"llama", 2, 4, 4, 4, false, false}, f32{"llama", 2, 4, 4, 4, false, true};
  const auto plan = QuantizePlan::named("q4_0");
  for (const std::string_view name :
       {"blk.0.ffn_gate_inp.weight", "model.layers.0.mlp.gate.weight", "model.layers.0.mlp.router.weight",
        "model.layers.0.block_sparse_moe.gate.weight", "blk.0.ssm_conv1d.weight", "blk.0.shortconv.conv.weight",
        "position_embd.weight", "blk.0.ssm_a", "blk.0.attn_q_norm.weight", "model.layers.0.input_layernorm.weight"}) {
    EXPECT_EQ(plan.choose_one({name, {64, 64}, kBF16}, facts, false), kBF16) << name;
    EXPECT_EQ(plan.choose_one({name, {64, 64}, kBF16}, f32, false), kF32) << name;
  }
  EXPECT_EQ(plan.choose_one({"model.layers.0.self_attn.q_proj.bias", {64}, kF16}, facts, false), kF16);
}

TEST(QuantizePlan, HuggingFaceNamesGetTheSame) {
  const PlanFacts facts{"llama", 32, 32, 8, 0, false, false};
  const auto plan = QuantizePlan::named("q4_k_m");
  const auto type = [&](std::string_view name) { return plan.choose_one({name, {4096, 4096}, kBF16}, facts, false); };
  EXPECT_EQ(type("model.layers.6.self_attn.v_proj.weight"), kQ6_K);
  EXPECT_EQ(type("model.layers.7.self_attn.v_proj.weight"), kQ4_K);
  EXPECT_EQ(type("model.layers.6.mlp.down_proj.weight"), kQ6_K);
  EXPECT_EQ(type("model.layers.6.mlp.gate_proj.weight"), kQ4_K);
  EXPECT_EQ(type("lm_head.weight"), kQ6_K);
  EXPECT_EQ(type("model.embed_tokens.weight"), kQ4_K);
  const auto mxfp4 = QuantizePlan::named("mxfp4");
  EXPECT_EQ(mxfp4.choose_one({"model.layers.0.mlp.experts.gate_up_proj", {8, 64, 64}, kBF16}, facts, false), kMXFP4);
  EXPECT_EQ(mxfp4.choose_one({"model.layers.0.self_attn.q_proj.weight", {64, 64}, kBF16}, facts, false), kQ8_0);
}

TEST(QuantizePlan, Names) {
  EXPECT_ERROR(QuantizePlan::named("q4_k_xl"), kInvalidArgument, "no quantisation 'q4_k_xl'; there are auto, none");
  for (const std::string_view name : QuantizePlan::names()) EXPECT_EQ(QuantizePlan::named(name).name(), name);
  EXPECT_EQ(QuantizePlan::named("q4_k_m").gguf_file_type(), 15);
  EXPECT_EQ(layer_of("transformer.h.11.ln_1.weight"), 11);
  EXPECT_EQ(layer_of("output.weight"), std::nullopt);
}

}  // namespace
}  // namespace wick
