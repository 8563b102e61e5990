// The same model from a GGUF file and from its Hugging Face folder gives the same logits.
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"

namespace wick {
namespace {

const char* const kFamilies[] = {"llama",      "llama3-rope", "mistral",  "mixtral",    "qwen2",    "qwen3",
                                 "qwen3-yarn", "qwen3_moe",   "phi",      "phi3",       "falcon",   "falcon-new",
                                 "gemma",      "gemma2",      "gemma3",   "starcoder2", "stablelm", "olmo",
                                 "olmo2",      "gpt2",        "gpt_neox", "smollm3",    "lfm2",     "gpt_oss"};

class GgufModelTest : public testing::TestWithParam<const char*> {};

TEST_P(GgufModelTest, GivesTheLogitsOfItsFolder) {
  const TempFolder temp;
  auto folder = family_folder(GetParam());
  if (folder.filename() == "gemma2" || folder.filename() == "gemma3") {
    // GGUF has no key for the scale of Gemma's scores: it follows from the head size.
    copy_model(folder, temp.path() / "model", "\"query_pre_attn_scalar\": 24", "\"query_pre_attn_scalar\": 32");
    folder = temp.path() / "model";
  }
  const auto file = temp.path() / "model.gguf";
  write_gguf(folder, file);
  const TestModel from_folder(folder), from_file(file);
  const std::vector<int32_t> text = some_tokens(37, 11);
  TestSequence a(from_folder), b(from_file);
  const double error = relative_error(b.run(from_file, text), a.run(from_folder, text));
  EXPECT_LE(error, 2e-5);
}

INSTANTIATE_TEST_SUITE_P(All, GgufModelTest, testing::ValuesIn(kFamilies), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace wick
