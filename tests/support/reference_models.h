#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "formats/checkpoint.h"
#include "support/fixtures.h"

namespace wick {

// PyTorch computes the gated delta rule chunk by chunk in f32, and is as far as this from the same in f64.
inline constexpr double kChunkedTolerance = 3e-5;

// A language model with what PyTorch computes for it.
struct ReferenceModel {
  const char* folder;           // of tests/fixtures or of WICK_EXTRA_FIXTURES
  const char* family = folder;  // model_type
  bool inferred = false;        // Wick does not know the family by name, but understands it
  double tolerance = 5e-6;      // of the spread: sums in another order, and nothing else
  bool patterns = true;         // the reference has those of attention

  friend std::ostream& operator<<(std::ostream& out, const ReferenceModel& model) { return out << model.folder; }
};

// All that Wick agrees with, except those without attention (kRecurrentFamilies).
inline constexpr ReferenceModel kReferenceModels[] = {
    {"apertus"},
    {"arcee"},
    {"bamba"},
    {"bitnet"},
    {"bloom"},
    {"codegen"},
    {"cohere"},
    {"cohere2"},
    {"deepseek_v2"},
    {"deepseek_v3"},
    {"diffllama"},
    {"dots1"},
    {"ernie4_5_moe"},
    {"exaone4"},
    {"falcon"},
    {"falcon-new", "falcon"},
    {"falcon_h1"},
    {"gemma"},
    {"gemma2"},
    {"gemma3", "gemma3_text"},
    {"gemma3n", "gemma3n_text"},
    {"gemma4", "gemma4_text"},
    {"glm"},
    {"glm4"},
    {"glm4_moe"},
    {"gpt2"},
    {"gpt_bigcode"},
    {"gpt_neo"},
    {"gpt_neox"},
    {"gpt_oss"},
    {"gptj"},
    {"granite"},
    {"granitemoe"},
    {"granitemoehybrid"},
    {"helium"},
    {"hunyuan_v1_dense"},
    {"jamba"},
    {"lfm2"},
    {"lfm2_moe"},
    {"llama"},
    {"llama3-rope", "llama"},
    {"llama4", "llama4_text"},
    {"minimax_m2"},
    {"ministral3"},
    {"mistral"},
    {"mixtral"},
    {"mpt"},
    {"nanochat"},
    {"nemotron"},
    {"nemotron_h"},
    {"olmo"},
    {"olmo2"},
    {"olmo3"},
    {"olmoe"},
    {"opt"},
    {"persimmon"},
    {"phi"},
    {"phi3"},
    {"phi3-longrope", "phi3"},
    {"phimoe"},
    {"qwen2"},
    {"qwen2_moe"},
    {"qwen3"},
    {"qwen3-sharded-bf16", "qwen3"},
    {"qwen3-yarn", "qwen3"},
    {"qwen3_5", "qwen3_5_text", false, kChunkedTolerance},
    {"qwen3_5_moe", "qwen3_5_moe_text", false, kChunkedTolerance},
    {"qwen3_moe"},
    {"qwen3_next", "qwen3_next", false, kChunkedTolerance},
    {"recurrent_gemma", "recurrent_gemma", false, 5e-6, false},
    {"seed_oss"},
    {"smollm3"},
    {"stablelm"},
    {"starcoder2"},
    {"vaultgemma"},
};

// Folders of all roots that hold a language model and what PyTorch makes of a text, whether Wick knows it or not.
inline std::vector<std::filesystem::path> text_model_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& root : fixture_roots()) {
    if (!is_directory(root)) continue;
    for (const auto& item : std::filesystem::directory_iterator(root)) {
      const auto reference = item.path() / "reference.safetensors";
      if (!exists(reference) || !exists(item.path() / "config.json")) continue;
      if (Checkpoint::open(reference).find("input_ids_short")) folders.push_back(item.path());
    }
  }
  return folders;
}

// "qwen3_yarn": test names have no dashes.
inline std::string test_name(std::string folder) {
  std::replace(folder.begin(), folder.end(), '-', '_');
  return folder;
}
inline std::string reference_model_name(const testing::TestParamInfo<ReferenceModel>& test) {
  return test_name(test.param.folder);
}

// Base of tests over folders that not every machine has.
class ReferenceModelTest : public testing::TestWithParam<ReferenceModel> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam().folder); }
};

}  // namespace wick
