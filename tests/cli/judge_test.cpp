// wick rerank and wick classify, as a user runs them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/process.h"
#include "embed/labelled.h"
#include "embed/masked_model.h"
#include "support/mask_token.h"
#include "support/places.h"
#include "support/with_head.h"

namespace wick {
namespace {

std::vector<NamedTensor> head(int64_t labels) {
  return {made("classifier.weight", {labels, 64}), made("classifier.bias", {labels})};
}
ProcessResult wick(const std::vector<std::string>& arguments) { return run_process(WICK_PROGRAM, arguments, {}); }
std::vector<nlohmann::json> lines_of(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  std::vector<nlohmann::json> lines;
  std::istringstream text(result.output);
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(RerankCommand, SortsByTheLibrarysScores) {
  const WithHead model("bert", "BertForSequenceClassification", head(1), "", R"({"0": "LABEL_0"})");
  const std::string path = model.folder.path().string();
  const std::vector<std::string> documents = {"w9 w10", "w30", "w50 w51 w52"};
  const std::vector<double> scores = relevance(*model.load(), "w7 w8", documents, false);
  const auto lines = lines_of(wick({"rerank", path, "w7 w8", "w9 w10", "w30", "w50 w51 w52", "--json"}));
  ASSERT_EQ(lines.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto at = lines[i].at("index").get<size_t>();
    EXPECT_EQ(lines[i].at("score").get<double>(), scores[at]);
    EXPECT_EQ(lines[i].at("text"), documents[at]);
    EXPECT_LE(scores[at], i > 0 ? lines[i - 1].at("score").get<double>() : 1);
  }
  model.folder.write("docs.txt", "w9 w10\nw30\nw50 w51 w52\n");
  const auto top = lines_of(
      wick({"rerank", path, "w7 w8", "-f", (model.folder.path() / "docs.txt").string(), "--top", "1", "--json"}));
  ASSERT_EQ(top.size(), 1u);
  EXPECT_EQ(top[0], lines[0]);
  EXPECT_EQ(wick({"rerank", path, "w7 w8"}).exit_code, 2);
  EXPECT_NE(wick({"rerank", path, "w7", "w9", ""}).errors.find("document 1: there is nothing"), std::string::npos);
}

TEST(ClassifyCommand, LabelsTextsByItselfAndByOnesOwnLabels) {
  const WithHead model("bert", "BertForSequenceClassification", head(3), "",
                       R"({"0": "contradiction", "1": "neutral", "2": "entailment"})");
  const std::string path = model.folder.path().string();
  const auto library = model.load();
  const EncoderInput input = library->read({"w9 w10"});
  const std::vector<float> logits = library->logits({&input, 1}).to_vector<float>();
  const auto lines = lines_of(wick({"classify", path, "w9 w10", "--json"}));
  const std::vector<Labelled> expected = ranked_labels(*library, logits);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[0].at("labels")[i].at("label"), expected[i].label);
    EXPECT_EQ(lines[0].at("labels")[i].at("probability").get<double>(), expected[i].probability);
  }
  const std::vector<std::string> labels = {"w11", "w12 w13"};
  const auto own = lines_of(
      wick({"classify", path, "w9 w10", "--labels", "w11,w12 w13", "--pattern", "w5 {}", "--several", "--json"}));
  const std::vector<Labelled> judged = zero_shot(*library, "w9 w10", labels, {"w5 {}", false, false});
  ASSERT_EQ(own[0].at("labels").size(), 2u);
  EXPECT_EQ(own[0].at("labels")[0].at("label"), judged[0].label);
  EXPECT_EQ(own[0].at("labels")[0].at("probability").get<double>(), judged[0].probability);
  const auto bad = wick({"classify", path, "w9", ""});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.errors.find("text 2: there is nothing in the text"), std::string::npos) << bad.errors;
  const auto shown = wick({"classify", path, "w9 w10"});
  EXPECT_EQ(shown.output.substr(0, 7), "w9 w10\n");
  EXPECT_NE(shown.output.find(cat(" %  ", expected[0].label, "\n")), std::string::npos) << shown.output;
}

TEST(ClassifyCommand, FindsNames) {
  const WithHead model("bert", "BertForTokenClassification", head(3), "", R"({"0": "O", "1": "B-PER", "2": "I-PER"})");
  const std::string text = "w9 w10 w11 w30 w31 w50 w99 w120 w121 w150 w151";
  const std::vector<NamedSpan> spans = named_spans(*model.load(), text);
  const auto lines = lines_of(wick({"classify", model.folder.path().string(), text, "--json"}));
  ASSERT_EQ(lines[0].at("entities").size(), spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(lines[0].at("entities")[i].at("begin"), spans[i].place.begin);
    EXPECT_EQ(lines[0].at("entities")[i].at("text"), text.substr(spans[i].place.begin, spans[i].place.size()));
  }
}

TEST(FillCommand, SaysWhatAMaskStandsFor) {
  const WithHead model(
      "bert", "BertForMaskedLM",
      {made("cls.predictions.transform.dense.weight", {64, 64}), made("cls.predictions.transform.dense.bias", {64}),
       made("cls.predictions.transform.LayerNorm.weight", {64}), made("cls.predictions.transform.LayerNorm.bias", {64}),
       made("cls.predictions.bias", {200})});
  add_mask(model.folder);
  const std::string path = model.folder.path().string();
  const auto library = MaskedModel::load(path);
  const auto guesses = library->fill(library->read("w9 [MASK] w30"), 3);
  const auto lines = lines_of(wick({"fill", path, "w9 [MASK] w30", "--top", "3", "--layers", "--json"}));
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines[0].at("masks").size(), 1u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[0].at("masks")[0][i].at("token"), guesses[0][i].token);
    EXPECT_EQ(lines[0].at("masks")[0][i].at("probability").get<double>(), guesses[0][i].probability);
  }
  EXPECT_EQ(lines[0].at("layers").size(), 3u);
  const ProcessResult shown = wick({"fill", path, "w9 [MASK] w30", "--layers"});
  EXPECT_NE(shown.output.find("embeddings"), std::string::npos);
  const ProcessResult none = wick({"fill", path, "w9 w30"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.errors.find("there is no [MASK] in the text"), std::string::npos);
}

}  // namespace
}  // namespace wick
