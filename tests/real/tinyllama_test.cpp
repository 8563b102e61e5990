// TinyLlama 1.1B in 2 bits, a file that many people run and nobody here made.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "cli/process.h"
#include "engine/text/generator.h"
#include "formats/checkpoint.h"
#include "formats/convert_weight.h"
#include "formats/weights.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"
#include "real/real_models.h"
#include "support/places.h"
#include "tensor/create.h"

namespace wick {
namespace {

class TinyLlama : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = real_model("tinyllama/tinyllama-1.1b-chat.gguf");
    if (!path) GTEST_SKIP() << kHowToGet;
    file_ = Checkpoint::open(*path);
  }
  Checkpoint file_;
};

TEST_F(TinyLlama, HoldsWhatItShould) {
  EXPECT_EQ(file_.entries().size(), 201u);
  EXPECT_EQ(file_.metadata().text("general.architecture"), "llama");
  std::map<std::string, int> types;
  for (const TensorEntry& entry : file_.entries()) ++types[entry.type];
  EXPECT_EQ(types, (std::map<std::string, int>{{"F32", 45}, {"IQ2_XXS", 130}, {"Q2_K", 3}, {"Q4_K", 22}, {"Q5_K", 1}}));
  ASSERT_NE(file_.find("output.weight"), nullptr);
  EXPECT_EQ(file_.find("output.weight")->dtype, DType::kQ5_K);
  EXPECT_EQ(file_.find("output.weight")->shape, Shape({32000, 2048}));
}

TEST_F(TinyLlama, EveryWeightIsFinite) {
  for (const TensorEntry& entry : file_.entries()) {
    const Tensor decoded = convert_tensor(file_.get(entry), DType::kF32);
    const float* data = decoded.data<float>();
    double squares = 0;
    for (int64_t i = 0; i < decoded.numel(); ++i) squares += static_cast<double>(data[i]) * data[i];
    ASSERT_TRUE(std::isfinite(squares)) << entry.name;
    EXPECT_GT(squares, 0) << entry.name;
    file_.forget(entry);
  }
}

TEST_F(TinyLlama, HasHuggingFaceNames) {
  const WeightSource source(file_);
  EXPECT_EQ(source.config().at("num_hidden_layers").as_int(), 22);
  EXPECT_TRUE(source.has("model.layers.21.self_attn.q_proj.weight"));
  EXPECT_EQ(source.get("model.layers.0.mlp.down_proj.weight").weight.shape(), Shape({2048, 5632}));
}

TEST_F(TinyLlama, SaysWhatTheCapitalOfFranceIs) {
  Generator generator(TextModel::load(file_.files().front()->path()));
  const std::vector<int32_t> prompt = {1,    529,   29989, 1792,  29989, 29958, 13,    5618, 338,   278,   7483,  310,
                                       3444, 29973, 2,     29871, 13,    29966, 29989, 465,  22137, 29989, 29958, 13};
  const std::vector<int32_t> expected = {1576, 7483, 310, 3444, 338,  3681, 29892, 607,  338,
                                         278,  7483, 310, 278,  4234, 310,  3444,  29889};
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = static_cast<int64_t>(expected.size());
  const GenerateResult answer = generator.generate(prompt, params);
  EXPECT_EQ(answer.tokens, expected);
  EXPECT_EQ(answer.text, "The capital of France is Paris, which is the capital of the country of France.");
}

// Multiplying rounds the activations to 8 bits, the weights stay as they are.
TEST_F(TinyLlama, MatmulAgreesWithDecodedWeights) {
  std::map<DType, std::string> one_of_each;
  for (const TensorEntry& entry : file_.entries()) {
    if (is_packed(*entry.dtype)) one_of_each.emplace(*entry.dtype, entry.name);
  }
  ASSERT_EQ(one_of_each.size(), 4u);
  for (const auto& [dtype, name] : one_of_each) {
    const Tensor weight = file_.get(name);
    const Tensor decoded = convert_tensor(weight, DType::kF32);
    const Tensor x = randn({3, weight.dim(1)}, 7);
    const Tensor packed = matmul(x, transpose(weight, 0, 1)), exact = matmul(x, transpose(decoded, 0, 1));
    double error = 0, size = 0;
    for (int64_t i = 0; i < exact.numel(); ++i) {
      error += std::pow(packed.data<float>()[i] - exact.data<float>()[i], 2);
      size += std::pow(exact.data<float>()[i], 2);
    }
    EXPECT_LT(std::sqrt(error / size), 0.01) << name;
  }
}

TEST_F(TinyLlama, InspectShowsIt) {
  const auto result = run_process(WICK_PROGRAM, {"inspect", file_.files()[0]->path().string()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  for (const char* part : {"llama (LlamaForCausalLM)", "1.10 B (1,100,048,384) in 201 tensors", "IQ2_XXS", "2.06",
                           "SentencePiece, 32,000 tokens", "{% for message in messages %}"}) {
    EXPECT_NE(result.output.find(part), std::string::npos) << part << " in\n" << result.output;
  }
}

}  // namespace
}  // namespace wick
