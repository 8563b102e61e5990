// wav2vec2 and its conformer against what PyTorch computes.
#include <gtest/gtest.h>

#include "models/speech/wav2vec2.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

class Wav2Vec2Test : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path folder() const { return family_folder(GetParam()); }
};

TEST_P(Wav2Vec2Test, AgreesWithPyTorch) {
  ModelOptions options;
  options.rope_dtype = DType::kBF16;  // the reference was cast as a whole
  const auto model = Wav2Vec2::load(folder(), options);
  const Checkpoint reference = Checkpoint::open(folder() / "reference.safetensors");
  const Tensor expected = reference.get("logits");
  const Tensor logits = model->logits(reference.get("input").to_vector<float>());
  EXPECT_EQ(logits.shape(), expected.layout().squeeze(0).shape);
  const double error = relative_error(logits, expected);
  EXPECT_LT(error, 2e-5);
  const Tensor exact = Wav2Vec2::load(folder())->logits(reference.get("input").to_vector<float>());
  EXPECT_LT(relative_error(exact, expected), 2e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, Wav2Vec2Test, testing::Values("wav2vec2", "wav2vec2-conformer"), [](const auto& test) {
  return std::string(test.param).substr(8).empty() ? "plain" : "conformer";
});

}  // namespace
}  // namespace wick
