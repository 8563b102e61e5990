// Heads that fill masks: PyTorch's hidden states, and plain arithmetic behind them.
#include "embed/masked_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "formats/safetensors/safetensors_writer.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/mask_token.h"
#include "support/reference_models.h"
#include "support/with_head.h"

namespace wick {
namespace {

struct Names {
  const char *family, *architecture, *dense, *norm, *bias, *table;
};
constexpr Names kFamilies[] = {
    {"bert", "BertForMaskedLM", "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
     "cls.predictions.bias", "embeddings.word_embeddings"},
    {"distilbert", "DistilBertForMaskedLM", "vocab_transform", "vocab_layer_norm", "vocab_projector.bias",
     "embeddings.word_embeddings"},
    {"roberta", "RobertaForMaskedLM", "lm_head.dense", "lm_head.layer_norm", "lm_head.bias",
     "embeddings.word_embeddings"},
    {"xlm-roberta", "XLMRobertaForMaskedLM", "lm_head.dense", "lm_head.layer_norm", "lm_head.bias",
     "embeddings.word_embeddings"},
    {"modernbert", "ModernBertForMaskedLM", "head.dense", "head.norm", "decoder.bias", "embeddings.tok_embeddings"},
};

class Masked : public testing::TestWithParam<Names> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam().family); }
};
INSTANTIATE_TEST_SUITE_P(All, Masked, testing::ValuesIn(kFamilies),
                         [](const auto& test) { return test_name(test.param.family); });

Row gelu(Row x) {
  for (double& value : x) value = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
  return x;
}

TEST_P(Masked, LogitsArePlainArithmeticOfPyTorchsRows) {
  const Names& names = GetParam();
  const bool is_modern = std::string(names.family) == "modernbert";
  std::vector<NamedTensor> head = {made(cat(names.dense, ".weight"), {64, 64}), made(cat(names.norm, ".weight"), {64}),
                                   made(names.bias, {200})};
  if (!is_modern) {
    head.push_back(made(cat(names.dense, ".bias"), {64}));
    head.push_back(made(cat(names.norm, ".bias"), {64}));
  }
  const WithHead with_head(names.family, names.architecture, head);
  add_mask(with_head.folder);
  const auto model = MaskedModel::load(with_head.folder.path());
  const Checkpoint values = Checkpoint::open(family_folder(names.family) / "reference.safetensors");
  const Tensor rows = values.get("last_hidden_state").with_layout(Layout::contiguous({28, 64}));
  const Tensor logits = model->logits(rows);
  const Tensor table =
      Checkpoint::open(family_folder(names.family)).get(cat(names.table, ".weight")).to_dtype(DType::kF32);
  const double eps = is_modern || std::string(names.family).ends_with("roberta") ? 1e-5 : 1e-12;
  for (const int64_t row : {0, 3, 8}) {
    const float* from = rows.data<float>() + row * 64;
    const Row dense = gelu(with_head.linear(names.dense, Row(from, from + 64)));
    double mean = 0, spread = 0;
    for (const double x : dense) mean += x / 64;
    for (const double x : dense) spread += (x - mean) * (x - mean) / 64;
    for (int64_t token = 0; token < 200; ++token) {
      double sum = with_head.find(names.bias).data<float>()[token];
      for (size_t i = 0; i < 64; ++i) {
        double x =
            (dense[i] - mean) / std::sqrt(spread + eps) * with_head.find(cat(names.norm, ".weight")).data<float>()[i];
        if (!is_modern) x += with_head.find(cat(names.norm, ".bias")).data<float>()[i];
        sum += x * table.data<float>()[token * 64 + static_cast<int64_t>(i)];
      }
      EXPECT_NEAR(logits.data<float>()[row * 200 + token], sum, 1e-3) << row << " " << token;
    }
  }
}

TEST_P(Masked, GuessesAreThoseOfTheMasks) {
  const Names& names = GetParam();
  const bool is_modern = std::string(names.family) == "modernbert";
  std::vector<NamedTensor> head = {made(cat(names.dense, ".weight"), {64, 64}), made(cat(names.norm, ".weight"), {64}),
                                   made(names.bias, {200})};
  if (!is_modern) {
    head.push_back(made(cat(names.dense, ".bias"), {64}));
    head.push_back(made(cat(names.norm, ".bias"), {64}));
  }
  const WithHead with_head(names.family, names.architecture, head);
  add_mask(with_head.folder);
  const auto model = MaskedModel::load(with_head.folder.path());
  const EncoderInput text = model->read("w9 [MASK] w30 [MASK]");
  EXPECT_EQ(text.tokens, (std::vector<int32_t>{2, 9, 4, 30, 4, 3}));
  EXPECT_EQ(model->masks(text), (std::vector<int64_t>{2, 4}));
  const auto guesses = model->fill(text, 200);
  ASSERT_EQ(guesses.size(), 2u);
  const EncoderText one{text.tokens};
  const Tensor logits = model->logits(model->encoder().encode({&one, 1}));
  for (size_t mask = 0; mask < 2; ++mask) {
    ASSERT_EQ(guesses[mask].size(), 200u);
    const float* row = logits.data<float>() + model->masks(text)[mask] * 200;
    double sum = 0, all = 0;
    for (int i = 0; i < 200; ++i) sum += std::exp(static_cast<double>(row[i]));
    for (size_t i = 0; i < 200; ++i) {
      const Guess& guess = guesses[mask][i];
      EXPECT_NEAR(guess.probability, std::exp(static_cast<double>(row[guess.token])) / sum, 1e-9);
      EXPECT_LE(guess.probability, i > 0 ? guesses[mask][i - 1].probability : 1);
      all += guess.probability;
    }
    EXPECT_NEAR(all, 1, 1e-9);
  }
  // The last layer says what the model says; the first knows only what a mask looks like.
  const auto layers = model->lens(text, 3);
  ASSERT_EQ(std::ssize(layers), model->encoder().config().layers + 1);
  for (size_t mask = 0; mask < 2; ++mask) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(layers.back()[mask][i].token, guesses[mask][i].token);
      EXPECT_NEAR(layers.back()[mask][i].probability, guesses[mask][i].probability, 1e-6);
    }
  }
  EXPECT_ERROR(model->read("w9 w30"), kInvalidArgument, "there is no [MASK] in the text");
}

TEST(MaskedModels, OthersAreRefused) {
  const TinySentences plain;
  EXPECT_ERROR(MaskedModel::load(plain.path()), kBadFile, "cls.predictions.transform.dense");
  WICK_NEEDS_FIXTURE("t5");
  EXPECT_ERROR(MaskedModel::load(family_folder("t5")), kUnsupported, "no head is known");
}

}  // namespace
}  // namespace wick
