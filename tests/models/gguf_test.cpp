// The same model from a GGUF file and from its Hugging Face folder gives the same logits.
#include <gtest/gtest.h>

#include <set>

#include "formats/architectures.h"
#include "support/compare.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"

namespace wick {
namespace {

// Of these, Wick knows no architecture in GGUF.
const std::set<std::string_view> kWithoutGguf = {
    "apertus",          "bamba",        "bitnet",          "codegen",   "diffllama",
    "ernie4_5_moe",     "glm",          "gpt_neo",         "gptj",      "helium",
    "ministral3",       "mpt",          "nanochat",        "opt",       "persimmon",
    "qwen3_5_moe_text", "qwen3_5_text", "recurrent_gemma", "vaultgemma"};

class GgufModelTest : public ReferenceModelTest {};

TEST_P(GgufModelTest, GivesTheLogitsOfItsFolder) {
  ASSERT_EQ(find_architecture(GetParam().family) == nullptr, kWithoutGguf.count(GetParam().family) > 0);
  if (kWithoutGguf.count(GetParam().family)) GTEST_SKIP() << "no architecture in GGUF";
  const TempFolder temp;
  auto folder = family_folder(GetParam().folder);
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

INSTANTIATE_TEST_SUITE_P(All, GgufModelTest, testing::ValuesIn(kReferenceModels), reference_model_name);

}  // namespace
}  // namespace wick
