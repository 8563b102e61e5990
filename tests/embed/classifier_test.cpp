// Heads of encoders, against PyTorch's hidden states and plain arithmetic.
#include "embed/classifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "support/errors.h"
#include "support/reference_models.h"
#include "support/with_head.h"
#include "tensor/create.h"

namespace wick {
namespace {

Row apply(Row x, double (*function)(double)) {
  for (double& value : x) value = function(value);
  return x;
}
double relu_of(double x) { return std::max(x, 0.0); }
double gelu_of(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

Row normed(const Row& x, const Tensor& weight) {
  double mean = 0, spread = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (const double value : x) spread += (value - mean) * (value - mean) / static_cast<double>(x.size());
  Row out;
  for (size_t i = 0; i < x.size(); ++i)
    out.push_back((x[i] - mean) / std::sqrt(spread + 1e-5) * weight.data<float>()[i]);
  return out;
}

struct Reference {
  explicit Reference(const std::string& family)
      : values(Checkpoint::open(family_folder(family) / "reference.safetensors")) {
    const Tensor ids = values.get("input_ids"), mask = values.get("attention_mask");
    texts.resize(2);
    for (int64_t i = 0; i < ids.numel(); ++i) {
      if (!mask.data<int64_t>()[i]) continue;
      texts[static_cast<size_t>(i / ids.dim(1))].tokens.push_back(static_cast<int32_t>(ids.data<int64_t>()[i]));
    }
  }
  Row hidden(int64_t text, int64_t token) const {
    const Tensor all = values.get("last_hidden_state");
    const float* from = all.data<float>() + (text * all.dim(1) + token) * 64;
    return {from, from + 64};
  }
  Checkpoint values;
  std::vector<EncoderInput> texts;
};

void expect_close(const Tensor& logits, int64_t row, const Row& expected) {
  ASSERT_EQ(logits.dim(1), std::ssize(expected));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(logits.data<float>()[static_cast<size_t>(row) * expected.size() + i], expected[i], 2e-4) << row << i;
  }
}

TEST(ClassifierTest, BertsPoolerComesFirst) {
  const WithHead made_with("bert", "BertForSequenceClassification",
                           {made("classifier.weight", {3, 64}), made("classifier.bias", {3})});
  const auto classifier = made_with.load();
  EXPECT_EQ(classifier->labels(), (std::vector<std::string>{"good", "bad", "odd"}));
  const Reference reference("bert");
  const Tensor logits = classifier->logits(reference.texts), pooled = reference.values.get("pooler_output");
  for (int64_t text = 0; text < 2; ++text) {
    const Row row(pooled.data<float>() + text * 64, pooled.data<float>() + (text + 1) * 64);
    expect_close(logits, text, made_with.linear("classifier", row));
  }
}

TEST(ClassifierTest, RobertaHasAHeadOfTwo) {
  WICK_NEEDS_FIXTURE("roberta");
  const WithHead made_with("roberta", "RobertaForSequenceClassification",
                           {made("classifier.dense.weight", {64, 64}), made("classifier.dense.bias", {64}),
                            made("classifier.out_proj.weight", {3, 64}), made("classifier.out_proj.bias", {3})});
  const Reference reference("roberta");
  const Tensor logits = made_with.load()->logits(reference.texts);
  for (int64_t text = 0; text < 2; ++text) {
    const Row dense = apply(made_with.linear("classifier.dense", reference.hidden(text, 0)), std::tanh);
    expect_close(logits, text, made_with.linear("classifier.out_proj", dense));
  }
}

TEST(ClassifierTest, DistilBertIsRectified) {
  WICK_NEEDS_FIXTURE("distilbert");
  const WithHead made_with("distilbert", "DistilBertForSequenceClassification",
                           {made("pre_classifier.weight", {64, 64}), made("pre_classifier.bias", {64}),
                            made("classifier.weight", {3, 64}), made("classifier.bias", {3})});
  const Reference reference("distilbert");
  const Tensor logits = made_with.load()->logits(reference.texts);
  for (int64_t text = 0; text < 2; ++text) {
    const Row dense = apply(made_with.linear("pre_classifier", reference.hidden(text, 0)), relu_of);
    expect_close(logits, text, made_with.linear("classifier", dense));
  }
}

TEST(ClassifierTest, ModernBertHasANormInItsHead) {
  for (const bool takes_mean : {false, true}) {
    const WithHead made_with("modernbert", "ModernBertForSequenceClassification",
                             {made("head.dense.weight", {64, 64}), made("head.norm.weight", {64}),
                              made("classifier.weight", {3, 64}), made("classifier.bias", {3})});
    if (takes_mean) {
      std::ifstream in(made_with.folder.path() / "config.json");
      std::string config{std::istreambuf_iterator<char>(in), {}};
      const std::string from = R"("classifier_pooling": "cls")";
      ASSERT_NE(config.find(from), config.npos);
      made_with.folder.write("config.json",
                             config.replace(config.find(from), from.size(), R"("classifier_pooling": "mean")"));
    }
    const Reference reference("modernbert");
    const Tensor logits = made_with.load()->logits(reference.texts);
    for (int64_t text = 0; text < 2; ++text) {
      const auto count = takes_mean ? std::ssize(reference.texts[static_cast<size_t>(text)].tokens) : 1;
      Row row(64);
      for (int64_t token = 0; token < count; ++token) {
        const Row one = reference.hidden(text, token);
        for (size_t i = 0; i < 64; ++i) row[i] += one[i] / static_cast<double>(count);
      }
      const Row dense = apply(made_with.linear("head.dense", row), gelu_of);
      expect_close(logits, text, made_with.linear("classifier", normed(dense, made_with.find("head.norm.weight"))));
    }
  }
}

TEST(ClassifierTest, TokensGetLabelsOfTheirOwn) {
  const WithHead made_with("bert", "BertForTokenClassification",
                           {made("classifier.weight", {3, 64}), made("classifier.bias", {3})});
  const auto classifier = made_with.load();
  const Reference reference("bert");
  const Tensor logits = classifier->token_logits(reference.texts[1]);
  ASSERT_EQ(logits.dim(0), std::ssize(reference.texts[1].tokens));
  for (int64_t token = 0; token < logits.dim(0); ++token) {
    expect_close(logits, token, made_with.linear("classifier", reference.hidden(1, token)));
  }
  EXPECT_ERROR(classifier->logits(reference.texts), kInvalidArgument, "labels to tokens, not to texts");
  const std::string text = "w9  W10,w11";
  const EncoderInput input = classifier->read({text});
  EXPECT_EQ(input.tokens, (std::vector<int32_t>{2, 9, 10, 1, 11, 3}));
  const std::vector<Span> places = classifier->places(text, input);
  EXPECT_EQ(places[2], (Span{4, 7}));
  EXPECT_EQ(places[5].size(), 0u);
}

TEST(ClassifierTest, PairsAreTwoSegments) {
  const WithHead made_with("bert", "BertForSequenceClassification",
                           {made("classifier.weight", {3, 64}), made("classifier.bias", {3})});
  const auto classifier = made_with.load();
  const EncoderInput pair = classifier->read({"w9 w10", "w11"});
  EXPECT_EQ(pair.tokens, (std::vector<int32_t>{2, 9, 10, 3, 11, 3}));
  EXPECT_EQ(pair.types, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
  std::string long_text;
  for (int i = 0; i < 70; ++i) long_text += cat("w", 5 + i, " ");
  EXPECT_ERROR(classifier->read({"w9", long_text}), kInvalidArgument, "the texts have 74 tokens, the model takes 64");
  const EncoderInput cut = classifier->read({"w9", long_text}, true);
  EXPECT_TRUE(cut.is_cut);
  EXPECT_EQ(cut.tokens.size(), 64u);
  EXPECT_EQ(cut.tokens[1], 9);
  EXPECT_EQ(cut.types.back(), 1);
  EXPECT_ERROR(classifier->read({""}), kInvalidArgument, "nothing in the text");
  EXPECT_ERROR(classifier->read({"w9", " "}), kInvalidArgument, "nothing in the text");
}

TEST(ClassifierTest, ProbabilitiesAreWhatTheLabelsMean) {
  const std::vector<NamedTensor> head = {made("classifier.weight", {3, 64}), made("classifier.bias", {3})};
  const std::vector<float> logits = {1, 2, -1};
  const auto exclusive = WithHead("bert", "BertForSequenceClassification", head).load();
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(-1.0);
  EXPECT_NEAR(exclusive->probabilities(logits)[1], std::exp(2.0) / sum, 1e-12);
  const auto several =
      WithHead("bert", "BertForSequenceClassification", head, R"(, "problem_type": "multi_label_classification")")
          .load();
  EXPECT_NEAR(several->probabilities(logits)[2], 1 / (1 + std::exp(1.0)), 1e-12);
}

TEST(ClassifierTest, WeightsThatAreNoNumbersAreTold) {
  const auto broken = WithHead("bert", "BertForSequenceClassification",
                               {{"classifier.weight", full({3, 64}, NAN)}, made("classifier.bias", {3})})
                          .load();
  const EncoderInput input = broken->read({"w9"});
  EXPECT_ERROR(broken->logits({&input, 1}), kBadFile, "computes values that are no numbers");
}

TEST(ClassifierTest, WhatIsNotUnderstoodIsRefusedByName) {
  EXPECT_ERROR(WithHead("bert", "BertForQuestionAnswering", {}).load(), kUnsupported, "BertForQuestionAnswering");
  EXPECT_ERROR(WithHead("bert", "BertForSequenceClassification", {made("classifier.weight", {3, 64})}).load(), kBadFile,
               "'classifier.bias' [3] is missing");
  EXPECT_ERROR(WithHead("bert", "BertForSequenceClassification",
                        {made("classifier.weight", {2, 64}), made("classifier.bias", {2})})
                   .load(),
               kBadFile, "'classifier.weight' is [2, 64], but the settings make it [3, 64]");
}

}  // namespace
}  // namespace wick
