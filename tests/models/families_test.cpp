// Every family against what PyTorch computes: logits, hidden states, attention patterns, greedy tokens.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/model_fixtures.h"

namespace wick {
namespace {

const char* const kFamilies[] = {
    "llama",      "llama3-rope",   "mistral",    "mixtral",  "qwen2",  "qwen3",      "qwen3-sharded-bf16",
    "qwen3-yarn", "qwen3_moe",     "phi",        "phi3",     "falcon", "falcon-new", "gemma",
    "gemma2",     "gemma3",        "starcoder2", "stablelm", "olmo",   "olmo2",      "gpt2",
    "gpt_neox",   "smollm3",       "lfm2",       "gpt_oss",  "olmo3",  "cohere2",    "granite",
    "qwen2_moe",  "phi3-longrope", "glm"};

class FamilyTest : public testing::TestWithParam<const char*> {
 protected:
  // Calls body(folder, reference) for each root that has the fixture.
  template <typename Body>
  void for_each_fixture(const Body& body) {
    const auto folders = fixture_folders(GetParam());
    ASSERT_FALSE(folders.empty());
    for (const auto& folder : folders) {
      SCOPED_TRACE(folder.string());
      body(folder, Checkpoint::open(folder / "reference.safetensors"));
    }
  }
};

std::vector<int32_t> tokens_of(const Checkpoint& reference, const char* name) {
  return reference.get(name).to_vector<int32_t>();
}

// The references come from models that were cast to the dtype of their files as a whole, rope frequencies included.
ModelOptions as_cast(const std::filesystem::path& folder) {
  ModelOptions options;
  options.rope_dtype = Checkpoint::open(folder).entries().front().dtype;
  return options;
}

Tensor without_batch(const Tensor& x) { return x.with_layout(x.layout().squeeze(0)); }

int32_t best_of(const Tensor& logits) {
  const std::vector<float> values = logits.to_vector<float>();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

TEST_P(FamilyTest, AgreesWithPyTorch) {
  for_each_fixture([](const auto& folder, const Checkpoint& reference) {
    const TestModel model(folder, as_cast(folder));
    HookSpec spec;
    spec.capture("blocks.*.hook_resid_pre").capture("ln_final.hook_normalized").capture("blocks.*.attn.hook_pattern");
    HookCache seen;
    const SequenceHooks hooks{&spec, &seen};
    TestSequence sequence(model);
    sequence.hooks = &hooks;
    const Tensor logits = sequence.run(model, tokens_of(reference, "input_ids"));
    EXPECT_LE(relative_error(logits, without_batch(reference.get("logits"))), 2e-4);

    const int layers = static_cast<int>(model.model->facts().layers);
    for (int i = 0; i <= layers; ++i) {
      const Tensor hidden = i < layers ? seen.at(HookPoint::kResidPre, i) : seen.at("ln_final.hook_normalized");
      EXPECT_LE(relative_error(hidden, without_batch(reference.get(cat("hidden_", i)))), 2e-4) << "hidden state " << i;
    }
    int with_attention = 0;
    for (int i = 0; i < layers; ++i) {
      if (!seen.has(hook_name(HookPoint::kAttnPattern, i))) continue;
      const std::string name = cat("attention_", with_attention++);
      if (!reference.find(name)) continue;
      EXPECT_LE(relative_error(seen.at(HookPoint::kAttnPattern, i), without_batch(reference.get(name))), 2e-4) << name;
    }
    EXPECT_GT(with_attention, 0);

    TestSequence brief(model, 1, 2);
    const Tensor brief_logits = brief.run(model, tokens_of(reference, "input_ids_short"));
    EXPECT_LE(relative_error(brief_logits, without_batch(reference.get("logits_short"))), 2e-4);
  });
}

TEST_P(FamilyTest, WritesTheSameTokens) {
  for_each_fixture([](const auto& folder, const Checkpoint& reference) {
    const TestModel model(folder, as_cast(folder));
    TestSequence sequence(model, 3, 3);
    Tensor logits = sequence.run(model, tokens_of(reference, "input_ids"), false);
    std::vector<int32_t> written;
    for (int i = 0; i < 24; ++i) {
      written.push_back(best_of(logits));
      logits = sequence.run(model, std::vector<int32_t>{written.back()});
    }
    EXPECT_EQ(written, tokens_of(reference, "greedy"));
  });
}

INSTANTIATE_TEST_SUITE_P(All, FamilyTest, testing::ValuesIn(kFamilies), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace wick
