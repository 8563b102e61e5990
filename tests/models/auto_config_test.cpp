// Models whose model_type nobody knows are understood from their settings and tensors.
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

struct AutoCase {
  const char* family;
  const char* model_type;
};
const AutoCase kCases[] = {
    {"llama", "llama"},
    {"llama3-rope", "llama"},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"phi3", "phi3"},
    {"gpt_neox", "gpt_neox"},
    {"gpt2", "gpt2"},
    {"olmo2", "olmo2"},
    {"phi", "phi"},
    {"stablelm", "stablelm"},
    {"starcoder2", "starcoder2"},
};

class AutoConfigTest : public testing::TestWithParam<AutoCase> {};

TEST_P(AutoConfigTest, AnUnknownTypeIsInferred) {
  WICK_NEEDS_FIXTURE(GetParam().family);
  const auto folder = family_folder(GetParam().family);
  const TempFolder temp;
  copy_model(folder, temp.path(), cat("\"model_type\": \"", GetParam().model_type, "\""),
             "\"model_type\": \"mystery-lm\"");
  const WeightSource source(Checkpoint::open(temp.path()));
  const ModelPlan plan = plan_model(source);
  EXPECT_TRUE(plan.inferred);
  EXPECT_TRUE(plan.preflight.ok()) << plan.preflight.sentence();
  const TestModel known(folder), inferred(temp.path());
  const std::vector<int32_t> text = some_tokens(33, 5);
  TestSequence a(known), b(inferred);
  expect_identical(b.run(inferred, text), a.run(known, text), "logits");
}

INSTANTIATE_TEST_SUITE_P(All, AutoConfigTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return test_name(test.param.family); });

}  // namespace
}  // namespace wick
