// What labels are good for: ranking, labels of one's own, names.
#include "embed/labelled.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/with_head.h"

namespace wick {
namespace {

std::vector<NamedTensor> head(int64_t labels) {
  return {made("classifier.weight", {labels, 64}), made("classifier.bias", {labels})};
}
std::vector<float> logits_of(const Classifier& classifier, std::string_view first, std::string_view second) {
  const EncoderInput input = classifier.read({first, second});
  return classifier.logits({&input, 1}).to_vector<float>();
}

TEST(Relevance, IsTheSigmoidOfOneLogit) {
  const auto ranks = WithHead("bert", "BertForSequenceClassification", head(1), "", R"({"0": "LABEL_0"})").load();
  const std::vector<std::string> documents = {"w9 w10", "w30", "w50 w51 w52"};
  const std::vector<double> scores = relevance(*ranks, "w7 w8", documents, false);
  for (size_t i = 0; i < documents.size(); ++i) {
    EXPECT_NEAR(scores[i], 1 / (1 + std::exp(-logits_of(*ranks, "w7 w8", documents[i])[0])), 1e-7);
  }
  const std::vector<std::string> bad = {"w9", ""};
  EXPECT_ERROR(relevance(*ranks, "w7", bad, false), kInvalidArgument, "document 1: there is nothing in the text");
  const auto several = WithHead("bert", "BertForSequenceClassification", head(3)).load();
  EXPECT_ERROR(relevance(*several, "w7", documents, false), kInvalidArgument, "has 3 labels; one that ranks has one");
}

TEST(ZeroShot, IsByEntailment) {
  const auto model = WithHead("bert", "BertForSequenceClassification", head(3), "",
                              R"({"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"})")
                         .load();
  const std::vector<std::string> labels = {"w9", "w10", "w11 w12"};
  std::vector<double> entails, alone;
  double sum = 0;
  for (const std::string& label : labels) {
    const std::vector<float> logits = logits_of(*model, "w30 w31", cat("w5 ", label, " w6"));
    entails.push_back(std::exp(logits[2]));
    sum += entails.back();
    alone.push_back(std::exp(logits[2]) / (std::exp(logits[0]) + std::exp(logits[2])));
  }
  for (const bool is_exclusive : {true, false}) {
    const std::vector<Labelled> found = zero_shot(*model, "w30 w31", labels, {"w5 {} w6", is_exclusive, false});
    ASSERT_EQ(found.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_LE(found[i].probability, i > 0 ? found[i - 1].probability : 1);
      const auto at = std::find(labels.begin(), labels.end(), found[i].label) - labels.begin();
      const double expected = is_exclusive ? entails[static_cast<size_t>(at)] / sum : alone[static_cast<size_t>(at)];
      EXPECT_NEAR(found[i].probability, expected, 1e-5) << found[i].label;
    }
  }
  EXPECT_ERROR(zero_shot(*model, "w30", labels, {"no place"}), kInvalidArgument, "has no {} for the label");
  const auto other = WithHead("bert", "BertForSequenceClassification", head(3)).load();
  EXPECT_ERROR(zero_shot(*other, "w30", labels), kInvalidArgument, "has no label 'entailment'");
}

TEST(NamedSpans, JoinNeighboursOfOneLabel) {
  const auto model = WithHead("bert", "BertForTokenClassification", head(5), "",
                              R"({"0": "O", "1": "B-PER", "2": "I-PER", "3": "B-LOC", "4": "I-LOC"})")
                         .load();
  std::string text;
  for (int i = 0; i < 40; ++i) text += cat("w", 5 + (i * 53) % 190, i % 3 ? " " : "  ");
  const EncoderInput input = model->read({text});
  const std::vector<Span> places = model->places(text, input);
  const Tensor logits = model->token_logits(input);
  // The same by hand: a letter for each token, then runs of them.
  std::vector<NamedSpan> expected;
  std::string_view before = "O";
  double sum = 0;
  int count = 0;
  const char* names[] = {"O", "PER", "PER", "LOC", "LOC"};
  for (size_t i = 1; i + 1 < input.tokens.size(); ++i) {
    const float* row = logits.data<float>() + i * 5;
    const auto best = std::max_element(row, row + 5) - row;
    const std::string_view label = names[best];
    const double probability = model->probabilities({row, 5})[static_cast<size_t>(best)];
    const bool is_new = label != before || best == 1 || best == 3;
    before = label;
    if (label == "O") continue;
    if (is_new) {
      expected.push_back({std::string(label), places[i], 0});
      sum = count = 0;
    }
    sum += probability;
    ++count;
    expected.back().place.end = places[i].end;
    expected.back().probability = sum / count;
  }
  const std::vector<NamedSpan> found = named_spans(*model, text);
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_GT(found.size(), 3u);
  bool joins = false;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].label, expected[i].label) << i;
    EXPECT_EQ(found[i].place, expected[i].place) << i;
    EXPECT_NEAR(found[i].probability, expected[i].probability, 1e-9) << i;
    joins = joins || text.substr(found[i].place.begin, found[i].place.size()).find(' ') != std::string::npos;
  }
  EXPECT_TRUE(joins) << "the text is too plain";
}

}  // namespace
}  // namespace wick
