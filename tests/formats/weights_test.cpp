#include "formats/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/text.h"
#include "formats/architectures.h"
#include "formats/convert_weight.h"
#include "formats/gguf/gguf_export.h"
#include "formats/layout_copy.h"
#include "quant/format.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/reference_models.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

bool is_mapped(const WeightSource& source, const Tensor& tensor) {
  const auto file = source.checkpoint().files().front()->bytes();
  return tensor.raw() >= file.data() && tensor.raw() < file.data() + file.size();
}

// The same bits; `count` floats from each.
bool same_bytes(const float* a, const float* b, size_t count) {
  return std::memcmp(static_cast<const void*>(a), static_cast<const void*>(b), count * sizeof(float)) == 0;
}

void expect_same(const Tensor& actual, const Tensor& expected, const std::string& name) {
  if (!is_float(expected.dtype())) return expect_identical(actual, expected, name);
  // Norms and A_log change by a rounding when they go there and back.
  expect_close(convert_tensor(actual, DType::kF32), convert_tensor(expected, DType::kF32), 1e-6, name);
}

// Everything that the folder holds comes out of its GGUF form again.
void expect_round_trip(const std::filesystem::path& folder) {
  SCOPED_TRACE(folder.filename());
  TempFolder temp;
  write_gguf(folder, temp.path() / "model.gguf");
  const WeightSource hf(Checkpoint::open(folder)), gguf(Checkpoint::open(temp.path() / "model.gguf"));
  EXPECT_EQ(gguf.architecture(), hf.architecture());
  EXPECT_EQ(gguf.counts().heads, hf.counts().heads);
  EXPECT_EQ(gguf.counts().kv_heads, hf.counts().kv_heads);
  const bool tied = hf.config().get("tie_word_embeddings", false);
  for (const std::string& name : hf.names()) {
    if (tied && name == "lm_head.weight") continue;
    if (const auto found = gguf.find(name)) {
      expect_same(found->weight, hf.get(name).weight, name);
      continue;
    }
    // Gate and up in one tensor come apart; each must agree with the same part of the original.
    const auto matches = gguf_matches(hf.architecture(), name);
    ASSERT_FALSE(matches.empty()) << name;
    for (const NameMatch& match : matches) {
      ASSERT_TRUE(is_part(match.change)) << name;
      const std::string part = hf_name(hf.architecture(), match.name).value();
      expect_same(gguf.get(part).weight, hf.get(part).weight, part);
    }
  }
}

TEST(Weights, TinyModelsSurviveGguf) {
  for (const TinyModel& model : tiny_models()) {
    TempFolder temp;
    write_tiny_model(model, temp.path() / model.family);
    expect_round_trip(temp.path() / model.family);
  }
}

TEST(Weights, FixturesSurviveGguf) {
  int models = 0;
  for (const auto& folder : text_model_folders()) {
    if (!find_architecture(Json::load(folder / "config.json").get("model_type", ""))) continue;
    expect_round_trip(folder);
    ++models;
  }
  if (models == 0) GTEST_SKIP() << "no model fixtures here";
}

class TinyWeights : public testing::Test {
 protected:
  WeightSource hf(std::string_view family) {
    const auto folder = temp_.path() / family;
    if (!std::filesystem::exists(folder)) write_tiny_model(tiny_model(family), folder);
    return WeightSource(Checkpoint::open(folder));
  }
  WeightSource gguf(std::string_view family) {
    hf(family);
    const auto path = temp_.path() / cat(family, ".gguf");
    if (!std::filesystem::exists(path)) write_gguf(temp_.path() / family, path);
    return WeightSource(Checkpoint::open(path));
  }
  const std::filesystem::path& folder() const { return temp_.path(); }

 private:
  TempFolder temp_;
};

TEST_F(TinyWeights, NothingIsCopiedThatNeedNotBe) {
  const WeightSource safetensors = hf("llama"), file = gguf("llama"), qwen = gguf("qwen3");
  EXPECT_TRUE(is_mapped(safetensors, safetensors.get("model.layers.1.self_attn.q_proj.weight").weight));
  EXPECT_TRUE(is_mapped(file, file.get("model.layers.1.self_attn.v_proj.weight").weight));
  EXPECT_FALSE(is_mapped(file, file.get("model.layers.1.self_attn.q_proj.weight").weight));
  EXPECT_TRUE(is_mapped(qwen, qwen.get("model.layers.1.self_attn.q_proj.weight").weight));
  const WeightSource moe = gguf("mixtral"), gpt2 = gguf("gpt2"), phi = gguf("phi3");
  EXPECT_TRUE(is_mapped(moe, moe.get("model.layers.1.block_sparse_moe.experts.2.w3.weight").weight));
  EXPECT_TRUE(is_mapped(moe, moe.get("model.layers.1.mlp.experts.up_proj.weight").weight));
  EXPECT_TRUE(is_mapped(gpt2, gpt2.get("transformer.h.0.mlp.c_fc.weight").weight));
  EXPECT_TRUE(is_mapped(phi, phi.get("model.layers.0.self_attn.k_proj.weight").weight));
}

TEST_F(TinyWeights, ExpertsStackedOrOneByOneFromEveryForm) {
  for (const std::string_view family : {"mixtral", "qwen3_moe", "qwen3_moe-stacked", "granitemoe", "gpt_oss"}) {
    SCOPED_TRACE(family);
    const WeightSource original = hf(family), file = gguf(family);
    for (const std::string_view part : {"gate_proj", "up_proj", "down_proj"}) {
      const std::string name = cat("model.layers.1.mlp.experts.", part, ".weight");
      const Tensor stack = original.get(name).weight;
      EXPECT_EQ(stack.shape(), part == "down_proj" ? Shape({3, 64, 96}) : Shape({3, 96, 64}));
      expect_identical(compact(file.get(name).weight), compact(stack), name);
      for (int e = 0; e < 3; ++e) {
        const std::string one = cat("model.layers.1.mlp.experts.", e, ".", part, ".weight");
        const Tensor expected = compact(stack.with_layout(stack.layout().narrow(0, e, 1).squeeze(0)));
        expect_identical(compact(original.get(one).weight), expected, one);
        expect_identical(compact(file.get(one).weight), expected, one);
      }
      EXPECT_FALSE(original.has(cat("model.layers.2.mlp.experts.0.", part, ".weight")));
    }
  }
}

TEST_F(TinyWeights, QkvApartFromEveryFusedForm) {
  struct Case {
    std::string_view family, before;
    int64_t kv_heads;
  };
  for (const Case& c :
       {Case{"phi3", "model.layers.0.self_attn.", 2}, Case{"gpt2", "transformer.h.0.attn.", 4},
        Case{"gpt_neox", "gpt_neox.layers.0.attention.", 4}, Case{"falcon", "transformer.h.0.self_attention.", 1},
        Case{"falcon-new", "transformer.h.0.self_attention.", 2}}) {
    SCOPED_TRACE(c.family);
    const WeightSource original = hf(c.family), file = gguf(c.family);
    for (const std::string_view part : {"q_proj", "k_proj", "v_proj"}) {
      const std::string name = cat(c.before, part, ".weight");
      const Tensor weight = compact(original.get(name).weight);
      EXPECT_EQ(weight.shape(), Shape({16 * (part == "q_proj" ? 4 : c.kv_heads), 64})) << name;
      expect_identical(compact(file.get(name).weight), weight, name);
    }
  }
  // By hand: row 5 of key head 1 in Falcon's [kv_heads, 2 + 2, 16] rows.
  const WeightSource falcon = hf("falcon-new");
  const Tensor fused = falcon.get("transformer.h.0.self_attention.query_key_value.weight").weight;
  const Tensor key = falcon.get("transformer.h.0.self_attention.k_proj.weight").weight;
  EXPECT_TRUE(same_bytes(key.data<float>() + (16 + 5) * 64, fused.data<float>() + ((4 + 2) * 16 + 5) * 64, 64));
}

TEST_F(TinyWeights, LatentKeysAndValues) {
  const WeightSource original = hf("deepseek_v3"), file = gguf("deepseek_v3");
  const std::string layer = "model.layers.1.self_attn.";
  const Tensor both = original.get(layer + "kv_b_proj.weight").weight;  // four heads of 12 key and 10 value rows
  for (const WeightSource& source : {original, file}) {
    const Tensor keys = compact(source.get(layer + "k_b_proj.weight").weight);
    const Tensor values = compact(source.get(layer + "v_b_proj.weight").weight);
    ASSERT_EQ(keys.shape(), Shape({4, 32, 12}));
    ASSERT_EQ(values.shape(), Shape({4, 10, 32}));
    EXPECT_EQ(keys.data<float>()[(2 * 32 + 7) * 12 + 5], both.data<float>()[(2 * 22 + 5) * 32 + 7]);
    EXPECT_EQ(values.data<float>()[(3 * 10 + 9) * 32 + 6], both.data<float>()[(3 * 22 + 12 + 9) * 32 + 6]);
  }
  expect_identical(file.get(layer + "kv_b_proj.weight").weight, both, "both");
}

TEST_F(TinyWeights, FusedFromParts) {
  for (const WeightSource& source : {hf("qwen3"), gguf("qwen3"), gguf("llama")}) {
    const std::string layer = "model.layers.1.";
    const Tensor fused = source.get(layer + "self_attn.qkv_proj.weight").weight;
    ASSERT_EQ(fused.shape(), Shape({128, 64}));
    const Tensor key = source.get(layer + "self_attn.k_proj.weight").weight;
    EXPECT_TRUE(same_bytes(fused.data<float>() + 64 * 64, key.data<float>(), 32 * 64));
    EXPECT_EQ(source.get(layer + "mlp.gate_up_proj.weight").weight.shape(), Shape({192, 64}));
  }
}

TEST_F(TinyWeights, HalvesOfPhi3) {
  for (const WeightSource& source : {hf("phi3"), gguf("phi3")}) {
    const Tensor whole = source.get("model.layers.0.mlp.gate_up_proj.weight").weight;
    const Tensor up = source.get("model.layers.0.mlp.up_proj.weight").weight;
    ASSERT_EQ(up.shape(), Shape({96, 64}));
    EXPECT_TRUE(same_bytes(up.data<float>(), whole.data<float>() + 96 * 64, 96 * 64));
  }
}

TEST_F(TinyWeights, WhatIsMissing) {
  const WeightSource source = hf("llama");
  EXPECT_FALSE(source.has("model.layers.0.mlp.experts.gate_proj.weight"));
  EXPECT_FALSE(source.find("model.layers.9.self_attn.qkv_proj.weight"));
  EXPECT_ERROR(source.get("model.layers.9.self_attn.q_proj.weight"), kInvalidArgument,
               "there is no tensor 'model.layers.9.self_attn.q_proj.weight'");
}

TEST_F(TinyWeights, HeadsThatContradictTheTensor) {
  TinyModel model = tiny_model("phi3");
  model.config.replace(model.config.find("\"num_attention_heads\": 4"), 24, "\"num_attention_heads\": 5");
  write_tiny_model(model, folder() / "broken");
  const WeightSource source(Checkpoint::open(folder() / "broken"));
  EXPECT_ERROR(source.get("model.layers.0.self_attn.q_proj.weight"), kBadFile, "5 query and twice 2 key heads");
}

TEST_F(TinyWeights, GptqCheckpoint) {
  const std::string config = R"({"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 2,
    "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32}})";
  const Tensor words = full({8, 16}, 0x76543210, DType::kI32);  // codes 0 to 7 along the inputs
  const Tensor zero_words = full({2, 2}, 0x33333333, DType::kI32);
  write_checkpoint(folder() / "gptq", config,
                   {{"model.layers.0.self_attn.q_proj.qweight", words},
                    {"model.layers.0.self_attn.q_proj.qzeros", zero_words},
                    {"model.layers.0.self_attn.q_proj.scales", ones({2, 16}, DType::kF16)},
                    {"model.norm.weight", ones({16})}});
  const WeightSource source(Checkpoint::open(folder() / "gptq"));
  EXPECT_EQ(source.names(), (std::vector<std::string>{"model.layers.0.self_attn.q_proj.weight", "model.norm.weight"}));
  const LoadedWeight loaded = source.get("model.layers.0.self_attn.q_proj.weight");
  ASSERT_EQ(loaded.weight.dtype(), DType::kGroup4);
  ASSERT_EQ(loaded.weight.shape(), Shape({16, 64}));
  const Tensor values = convert_tensor(loaded.weight, DType::kF32);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(values.data<float>()[i], static_cast<float>(i % 8) - 4);
  const auto tensors = gguf_tensors(source);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "blk.0.attn_q.weight");
  EXPECT_EQ(tensors[0].shape, Shape({16, 64}));
}

TEST_F(TinyWeights, Int8AndMxfp4Checkpoints) {
  const std::string int8 = R"({"model_type": "qwen3", "quantization_config": {"quant_method": "compressed-tensors",
    "format": "int-quantized"}})";
  write_checkpoint(folder() / "int8", int8,
                   {{"model.layers.0.mlp.up_proj.weight", full({4, 64}, -3, DType::kI8)},
                    {"model.layers.0.mlp.up_proj.weight_scale", full({4, 1}, 0.5)}});
  const WeightSource channels(Checkpoint::open(folder() / "int8"));
  const Tensor up = channels.get("model.layers.0.mlp.up_proj.weight").weight;
  ASSERT_EQ(up.dtype(), DType::kI8Channel);
  EXPECT_EQ(convert_tensor(up, DType::kF32).data<float>()[70], -1.5f);

  const std::string mxfp4 = R"({"model_type": "gpt_oss", "num_local_experts": 2, "num_attention_heads": 2,
    "quantization_config": {"quant_method": "mxfp4"}})";
  // Rows 0, 2, ... are gate (code 1: 0.5), rows 1, 3, ... up (code 2: 1).
  Tensor blocks = empty({2, 6, 2, 16}, DType::kU8);
  for (int64_t row = 0; row < 12; ++row) std::memset(blocks.raw() + row * 32, row % 2 ? 0x22 : 0x11, 32);
  write_checkpoint(folder() / "mxfp4", mxfp4,
                   {{"model.layers.0.mlp.experts.gate_up_proj_blocks", blocks},
                    {"model.layers.0.mlp.experts.gate_up_proj_scales", full({2, 6, 2}, 127, DType::kU8)},
                    {"model.layers.0.mlp.experts.gate_up_proj_bias", zeros({2, 6})}});
  const WeightSource oss(Checkpoint::open(folder() / "mxfp4"));
  for (const auto& [name, value] : {std::pair("gate_proj", .5f), std::pair("up_proj", 1.f)}) {
    const Tensor stack = oss.get(cat("model.layers.0.mlp.experts.", name, ".weight")).weight;
    ASSERT_EQ(stack.dtype(), DType::kMXFP4);
    ASSERT_EQ(stack.shape(), Shape({2, 3, 64}));
    for (const float weight : convert_tensor(stack, DType::kF32).to_vector<float>()) EXPECT_EQ(weight, value);
  }
  const auto tensors = gguf_tensors(oss);
  ASSERT_EQ(tensors.size(), 4u);
  for (const GgufTensor& tensor : tensors) EXPECT_EQ(tensor.load().shape(), tensor.shape) << tensor.name;
}

TEST_F(TinyWeights, ScalesBesideOtherTypesAreRefused) {
  write_checkpoint(folder() / "fp8", R"({"model_type": "llama"})",
                   {{"w.weight", zeros({4, 64}, DType::kU8)}, {"w.weight_scale_inv", zeros({1, 1})}});
  const WeightSource source(Checkpoint::open(folder() / "fp8"));
  EXPECT_ERROR(source.get("w.weight"), kUnsupported, "with a scale of its own");
}

}  // namespace
}  // namespace wick
