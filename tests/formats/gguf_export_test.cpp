#include "formats/gguf/gguf_export.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/convert_weight.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_writer.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

std::vector<std::string> names_of(const std::vector<GgufTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const GgufTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(GgufExport, ShapesAreKnownBeforeAnythingIsRead) {
  for (const TinyModel& model : tiny_models()) {
    SCOPED_TRACE(model.family);
    const TempFolder temp;
    write_tiny_model(model, temp.path());
    const WeightSource source(Checkpoint::open(temp.path()));
    for (const GgufTensor& tensor : gguf_tensors(source)) {
      const Tensor loaded = tensor.load();
      EXPECT_EQ(loaded.shape(), tensor.shape) << tensor.name;
      EXPECT_EQ(loaded.dtype(), tensor.dtype) << tensor.name;
      EXPECT_TRUE(loaded.is_contiguous()) << tensor.name;
    }
  }
}

TEST(GgufExport, LeftoversStayBehindAndRopeFactorsJoin) {
  const TempFolder temp;
  const std::string config =
      R"({"model_type": "llama", "tie_word_embeddings": true, "hidden_size": 64, "num_attention_heads": 2,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0}})";
  write_checkpoint(temp.path(), config,
                   {{"model.embed_tokens.weight", zeros({4, 64})},
                    {"lm_head.weight", zeros({4, 64})},
                    {"model.layers.0.self_attn.rotary_emb.inv_freq", zeros({16})}});
  const WeightSource source(Checkpoint::open(temp.path()));
  EXPECT_EQ(names_of(gguf_tensors(source)), (std::vector<std::string>{"rope_freqs.weight", "token_embd.weight"}));
}

TEST(GgufExport, WhatHasNoPlace) {
  const TempFolder temp;
  write_checkpoint(temp.path() / "odd", R"({"model_type": "llama"})", {{"model.vision.weight", zeros({4, 64})}});
  const WeightSource odd(Checkpoint::open(temp.path() / "odd"));
  EXPECT_ERROR(gguf_tensors(odd), kUnsupported,
               "'model.vision.weight' has no place in a GGUF file of architecture 'llama'");
  write_checkpoint(temp.path() / "gap", R"({"model_type": "mixtral", "num_local_experts": 3})",
                   {{"model.layers.0.block_sparse_moe.experts.0.w1.weight", zeros({4, 64})},
                    {"model.layers.0.block_sparse_moe.experts.2.w1.weight", zeros({4, 64})}});
  const WeightSource gap(Checkpoint::open(temp.path() / "gap"));
  EXPECT_ERROR(gguf_tensors(gap), kBadFile, "experts are missing");
  write_checkpoint(temp.path() / "few", R"({"model_type": "mixtral", "num_local_experts": 3})",
                   {{"model.layers.0.block_sparse_moe.experts.0.w1.weight", zeros({4, 64})}});
  const WeightSource few(Checkpoint::open(temp.path() / "few"));
  EXPECT_ERROR(gguf_tensors(few).at(0).load(), kBadFile, "has 1 experts, expected 3");
}

// A whole model, quantised by a plan, read back: each weight is what the format makes of the original.
TEST(GgufExport, QuantisedFilesReadBack) {
  for (const std::string_view family : {"llama", "mixtral", "gpt_oss", "gemma2", "falcon-new"}) {
    SCOPED_TRACE(family);
    const TempFolder temp;
    write_tiny_model(tiny_model(family), temp.path());
    const WeightSource source(Checkpoint::open(temp.path()));
    const auto tensors = gguf_tensors(source);
    PlanFacts facts = plan_facts(source);
    facts.kept_in_f32 = true;
    std::vector<PlannedTensor> planned;
    planned.reserve(tensors.size());
    for (const GgufTensor& tensor : tensors) planned.push_back({tensor.name, tensor.shape, tensor.dtype});
    const auto types = QuantizePlan::named("q8_0").choose(planned, facts);
    std::vector<TensorSpec> specs;
    specs.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) specs.push_back({tensors[i].name, types[i], tensors[i].shape});
    GgufWriter writer(temp.path() / "q8.gguf", gguf_from_config(source.config()), specs);
    for (size_t i = 0; i < tensors.size(); ++i) {
      writer.write(tensors[i].name, convert_and_forget(source, tensors[i].load(), types[i]));
    }
    writer.finish();
    const WeightSource file(Checkpoint::open(temp.path() / "q8.gguf"));
    int packed = 0;
    for (const std::string& name : source.names()) {
      const auto read = file.find(name);
      if (!read) continue;  // gate and up of gpt-oss, which come apart
      const Tensor original = source.get(name).weight;
      if (read->weight.dtype() != DType::kQ8_0 || read->weight.strides()[read->weight.rank() - 1] != 1) continue;
      const Tensor expected = convert_tensor(original, DType::kQ8_0);
      EXPECT_EQ(convert_tensor(read->weight, DType::kF32).to_vector<float>(),
                convert_tensor(expected, DType::kF32).to_vector<float>())
          << name;
      ++packed;
    }
    EXPECT_GE(packed, 6);
  }
}

TEST(GgufExport, NearestTypes) {
  EXPECT_EQ(gguf_dtype(DType::kQ4_K), DType::kQ4_K);
  EXPECT_EQ(gguf_dtype(DType::kGroup4), DType::kQ4_1);
  EXPECT_EQ(gguf_dtype(DType::kI8Channel), DType::kQ8_0);
  EXPECT_EQ(gguf_dtype(DType::kF8E4M3), DType::kF16);
}

}  // namespace
}  // namespace wick
