// Every family against what PyTorch computes: logits, hidden states, attention patterns, greedy tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/recurrent_cases.h"
#include "models/registry.h"
#include "ops/view.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"

namespace wick {
namespace {

class FamilyTest : public ReferenceModelTest {
 protected:
  // Calls body(folder, reference) for each root that has the fixture.
  template <typename Body>
  void for_each_fixture(const Body& body) {
    for (const auto& folder : fixture_folders(GetParam().folder)) {
      SCOPED_TRACE(folder.string());
      body(folder, Checkpoint::open(folder / "reference.safetensors"));
    }
  }
};

std::vector<int32_t> tokens_of(const Checkpoint& reference, const char* name) {
  return reference.get(name).to_vector<int32_t>();
}

Tensor without_batch(const Tensor& x) { return x.with_layout(x.layout().squeeze(0)); }

// Of several copies of the residual stream, the one that layers compute with.
Tensor hidden_state(const Tensor& x) {
  return without_batch(x.rank() == 4 ? without_batch(narrow(x, 0, 0, 1)) : x).contiguous();
}

int32_t best_of(const Tensor& logits) {
  const std::vector<float> values = logits.to_vector<float>();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

TEST_P(FamilyTest, AgreesWithPyTorch) {
  for_each_fixture([](const auto& folder, const Checkpoint& reference) {
    const TestModel model(folder);
    EXPECT_EQ(model.model->facts().family, GetParam().family);
    HookSpec spec;
    spec.capture("blocks.*.hook_resid_pre").capture("ln_final.hook_normalized").capture("blocks.*.attn.hook_pattern");
    spec.capture("blocks.*.hook_resid_post");
    HookCache seen;
    const SequenceHooks hooks{&spec, &seen};
    TestSequence sequence(model);
    sequence.hooks = &hooks;
    const Tensor logits = sequence.run(model, tokens_of(reference, "input_ids"));
    EXPECT_LE(relative_error(logits, without_batch(reference.get("logits"))), GetParam().tolerance);

    const int layers = static_cast<int>(model.model->facts().layers);
    for (int i = 0; i <= layers; ++i) {
      const Tensor expected = reference.get(cat("hidden_", i));
      const Tensor hidden = i < layers             ? seen.at(HookPoint::kResidPre, i)
                            : expected.rank() == 4 ? seen.at(HookPoint::kResidPost, i - 1)
                                                   : seen.at("ln_final.hook_normalized");
      const double error = relative_error(hidden, hidden_state(expected));
      EXPECT_LE(error, GetParam().tolerance) << "hidden state " << i;
    }
    int with_attention = 0;
    for (int i = 0; i < layers && GetParam().patterns; ++i) {
      if (!seen.has(hook_name(HookPoint::kAttnPattern, i))) continue;
      const std::string name = cat("attention_", with_attention++);
      const Tensor pattern = without_batch(reference.get(name));
      EXPECT_LE(relative_error(seen.at(HookPoint::kAttnPattern, i), pattern), GetParam().tolerance) << name;
    }
    EXPECT_EQ(with_attention > 0, GetParam().patterns);
    EXPECT_FALSE(reference.find(cat("attention_", with_attention)));

    TestSequence brief(model, 1, 2);
    const Tensor brief_logits = brief.run(model, tokens_of(reference, "input_ids_short"));
    EXPECT_LE(relative_error(brief_logits, without_batch(reference.get("logits_short"))), GetParam().tolerance);
  });
}

TEST_P(FamilyTest, WritesTheSameTokens) {
  for_each_fixture([](const auto& folder, const Checkpoint& reference) {
    const TestModel model(folder);
    TestSequence sequence(model, 3, 3);
    Tensor logits = sequence.run(model, tokens_of(reference, "input_ids"), false);
    std::vector<int32_t> generated;
    for (int i = 0; i < 24; ++i) {
      generated.push_back(best_of(logits));
      logits = sequence.run(model, std::vector<int32_t>{generated.back()});
    }
    EXPECT_EQ(generated, tokens_of(reference, "greedy"));
  });
}

INSTANTIATE_TEST_SUITE_P(All, FamilyTest, testing::ValuesIn(kReferenceModels), reference_model_name);

// A family that has no reference, and why.
struct Untested {
  const char* family;
  const char* reason;
};
constexpr Untested kUntested[] = {
    {"ernie4_5", "the settings are Helium's"},
    {"gemma3", "its text part is gemma3_text"},
    {"qwen2_5_vl", "compared with a picture: tests/vision"},
    {"qwen2_5_vl_text", "compared with a picture: tests/vision"},
    {"qwen3_5", "its text part is qwen3_5_text"},
    {"qwen3_5_moe", "its text part is qwen3_5_moe_text"},
    {"qwen3_vl_moe_text", "compared with a picture: tests/vision"},
    {"qwen3_vl_text", "compared with a picture: tests/vision"},
};

TEST(ReferenceModels, CoverEveryFamily) {
  std::set<std::string_view> tested(std::begin(kRecurrentFamilies), std::end(kRecurrentFamilies));
  for (const ReferenceModel& model : kReferenceModels) {
    tested.insert(model.family);
    EXPECT_EQ(find_family(model.family) == nullptr, model.inferred) << model.folder;
  }
  for (const Untested& untested : kUntested) EXPECT_TRUE(tested.insert(untested.family).second) << untested.family;
  std::set<std::string_view> known;
  for (const Family& family : families()) {
    known.insert(family.model_type);
    EXPECT_TRUE(tested.count(family.model_type)) << family.model_type << " has no reference among kReferenceModels";
  }
  for (const std::string_view family : kRecurrentFamilies) EXPECT_TRUE(known.count(family)) << family;
}

// Whatever lies in WICK_EXTRA_FIXTURES of a family that Wick knows is listed, and so compared.
TEST(ReferenceModels, OfKnownFamiliesAreListed) {
  std::set<std::string> listed(std::begin(kRecurrentFamilies), std::end(kRecurrentFamilies));
  for (const ReferenceModel& model : kReferenceModels) listed.insert(model.folder);
  for (const auto& folder : text_model_folders()) {
    if (!find_family(Json::load(folder / "config.json").get("model_type", ""))) continue;
    EXPECT_TRUE(listed.count(folder.filename().string())) << folder;
  }
}

}  // namespace
}  // namespace wick
