// POST /v1/rerank, /v1/score and /v1/classify, against the library.
#include <gtest/gtest.h>

#include "embed/labelled.h"
#include "support/api_server.h"
#include "support/for_all_tests.h"
#include "support/with_head.h"

namespace wick {
namespace {

class Judges : public testing::Test {
 protected:
  static std::vector<NamedTensor> head(int64_t labels) {
    return {made("classifier.weight", {labels, 64}), made("classifier.bias", {labels})};
  }
  static const WithHead& ranks() {
    static const WithHead model("bert", "BertForSequenceClassification", head(1), "", R"({"0": "LABEL_0"})");
    return model;
  }
  static const WithHead& entails() {
    static const WithHead model("bert", "BertForSequenceClassification", head(3), "",
                                R"({"0": "contradiction", "1": "neutral", "2": "entailment"})");
    return model;
  }
  static const WithHead& names() {
    static const WithHead model("bert", "BertForTokenClassification", head(3), "",
                                R"({"0": "O", "1": "B-PER", "2": "I-PER"})");
    return model;
  }
  static ApiServer& server() {
    return for_all_tests([] {
      auto judges = make_judge_host({{"ranks", ranks().folder.path(), {}},
                                     {"entails", entails().folder.path(), {}},
                                     {"names", names().folder.path(), {}}});
      return std::make_unique<ApiServer>(std::vector<ModelEntry>{{"unasked", "/nowhere", {}, {}}}, HttpServerOptions(),
                                         nullptr, nullptr, nullptr, nullptr, std::move(judges));
    });
  }
  static OrderedJson ask(const char* path, const char* body) { return server().answer(path, body); }
  static std::string error(const char* path, const std::string& body, int status = 400) {
    const HttpAnswer answer = server().post(path, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    return OrderedJson::parse(answer.body)["error"]["message"];
  }
};

TEST_F(Judges, RerankingSortsByTheLibrarysScores) {
  const std::vector<std::string> documents = {"w9 w10", "w30", "w50 w51 w52", "w77"};
  const std::vector<double> scores = relevance(*ranks().load(), "w7 w8", documents, false);
  const OrderedJson answer = ask("/v1/rerank", R"({"query": "w7 w8", "top_n": 3,
      "documents": ["w9 w10", {"text": "w30"}, "w50 w51 w52", "w77"]})");
  EXPECT_EQ(answer["model"], "ranks");
  ASSERT_EQ(answer["results"].size(), 3u);
  double before = 2;
  for (const OrderedJson& result : answer["results"]) {
    const auto at = result["index"].get<size_t>();
    EXPECT_EQ(result["relevance_score"].get<double>(), scores[at]);
    EXPECT_LE(scores[at], before);
    EXPECT_EQ(result["document"]["text"], documents[at]);
    before = scores[at];
  }
  EXPECT_EQ(answer["usage"]["total_tokens"], 4 * 5 + 2 + 1 + 3 + 1);
  const OrderedJson bare = ask("/v1/rerank", R"({"query": "w7", "documents": ["w9"], "return_documents": false})");
  EXPECT_FALSE(bare["results"][0].contains("document"));
  const OrderedJson pairs = ask("/v1/score", R"({"text_1": "w7 w8", "text_2": ["w9 w10", "w30"]})");
  EXPECT_EQ(pairs["data"][1]["score"].get<double>(), scores[1]);
  const OrderedJson each = ask("/v1/score", R"({"text_1": ["w1", "w7 w8"], "text_2": ["w9 w10", "w30"]})");
  EXPECT_EQ(each["data"][1]["score"].get<double>(), scores[1]);
}

TEST_F(Judges, CoheresFormIsThere) {
  const OrderedJson whole = ask("/v1/rerank", R"({"query": "w7", "documents": ["w9 w10 w11", "w30"]})");
  const OrderedJson same =
      ask("/v2/rerank", R"({"model": "ranks", "query": "w7", "documents": ["w9 w10 w11", "w30"]})");
  EXPECT_EQ(same["results"], whole["results"]);
  EXPECT_TRUE(same["id"].get<std::string>().starts_with("rerank-"));
  EXPECT_EQ(same["meta"]["billed_units"]["search_units"], 1);
  const OrderedJson cut =
      ask("/v2/rerank", R"({"query": "w7", "documents": ["w9 w10 w11", "w30"], "max_tokens_per_doc": 2})");
  const OrderedJson two = ask("/v2/rerank", R"({"query": "w7", "documents": ["w9 w10", "w30"]})");
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(cut["results"][i]["relevance_score"], two["results"][i]["relevance_score"]);
  EXPECT_EQ(cut["usage"], two["usage"]);
}

TEST_F(Judges, ClassesAreTheLibrarys) {
  const OrderedJson answer = ask("/v1/classify", R"({"model": "entails", "input": ["w9", "w30 w31"]})");
  EXPECT_EQ(answer["labels"], OrderedJson::array({"contradiction", "neutral", "entailment"}));
  const auto model = entails().load();
  const std::vector<EncoderInput> inputs = {model->read({"w9"}), model->read({"w30 w31"})};
  const Tensor logits = model->logits(inputs);
  for (size_t i = 0; i < 2; ++i) {
    const std::span<const float> row(logits.data<float>() + 3 * i, 3);
    EXPECT_EQ(answer["data"][i]["probs"].get<std::vector<double>>(), model->probabilities(row));
    EXPECT_EQ(answer["data"][i]["label"], ranked_labels(*model, row).front().label);
  }
  const OrderedJson own = ask("/v1/classify", R"({"model": "entails", "input": "w30 w31", "labels": ["w11", "w12"],
                                                 "pattern": "w5 {}"})");
  const std::vector<std::string> labels = {"w11", "w12"};
  const std::vector<Labelled> expected = zero_shot(*model, "w30 w31", labels, {"w5 {}"});
  EXPECT_EQ(own["data"][0]["label"], expected.front().label);
  EXPECT_EQ(own["data"][0]["probs"][expected.front().label == "w11" ? 0 : 1].get<double>(),
            expected.front().probability);
}

TEST_F(Judges, NamesAreTheLibrarys) {
  const std::string text = "w9 w10 w11 w30 w31 w50 w99 w120 w121 w150 w151";
  const OrderedJson answer = server().answer("/v1/classify", OrderedJson({{"model", "names"}, {"input", text}}).dump());
  const std::vector<NamedSpan> spans = named_spans(*names().load(), text);
  const OrderedJson& entities = answer["data"][0]["entities"];
  ASSERT_EQ(entities.size(), spans.size());
  ASSERT_GT(spans.size(), 0u);
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(entities[i]["begin"], spans[i].place.begin);
    EXPECT_EQ(entities[i]["text"], text.substr(spans[i].place.begin, spans[i].place.size()));
    EXPECT_EQ(entities[i]["score"].get<double>(), spans[i].probability);
  }
}

TEST_F(Judges, WhatMakesNoSenseIsTold) {
  EXPECT_EQ(error("/v1/rerank", R"({"query": "w7"})"), "documents is missing");
  EXPECT_EQ(error("/v1/rerank", R"({"query": "w7", "documents": []})"), "documents is empty");
  EXPECT_EQ(error("/v1/rerank", R"({"query": "w7", "documents": ["w9", ""]})"),
            "documents[1]: there is nothing in the text");
  EXPECT_NE(error("/v1/rerank", R"({"query": "w7", "documents": [7]})").find("documents[0]"), std::string::npos);
  EXPECT_NE(error("/v1/rerank", R"({"query": "w7", "documents": ["w9"], "model": "entails"})").find("3 labels"),
            std::string::npos);
  EXPECT_EQ(error("/v1/score", R"({"text_1": ["w1", "w2"], "text_2": ["w1", "w2", "w3"]})"),
            "text_1 has 2 texts and text_2 3; expected one or as many");
  EXPECT_EQ(error("/v1/classify", R"({"input": []})"), "input is empty");
  EXPECT_NE(error("/v1/classify", R"({"input": "w9", "labels": ["w1"]})").find("'entailment'"), std::string::npos);
  EXPECT_NE(error("/v1/classify", R"({"model": "names", "input": "w9", "labels": ["w1"]})").find("to tokens"),
            std::string::npos);
  EXPECT_NE(error("/v1/classify", R"({"model": "x", "input": "w9"})", 404).find("no classifier 'x'"),
            std::string::npos);
}

}  // namespace
}  // namespace wick
