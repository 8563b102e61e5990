// POST /v1/embeddings, against the library.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "base/base64.h"
#include "server/api/encoders/encoder_job.h"
#include "server/http/clients/api_keys.h"
#include "support/api_server.h"
#include "support/for_all_tests.h"
#include "support/recorded_exchange.h"
#include "support/sentence_folder.h"

namespace wick {
namespace {

constexpr char kPath[] = "/v1/embeddings";

class Embeddings : public testing::Test {
 protected:
  static const TinySentences& folder() {
    static const TinySentences folder;
    static const bool is_ready = [] {
      folder.write("config_sentence_transformers.json", R"({"prompts": {"query": "w7 : "}})");
      folder.write("sentence_bert_config.json", R"({"max_seq_length": 16})");
      return true;
    }();
    EXPECT_TRUE(is_ready);
    return folder;
  }
  static std::shared_ptr<EmbedHost> host() { return make_embed_host({{"tiny", folder().path(), {}}}); }
  // A server needs a model that talks, which nobody asks here.
  static std::vector<ModelEntry> unasked() { return {{"unasked", "/nowhere", {}, {}}}; }
  static ApiServer& server() {
    return for_all_tests(
        [] { return std::make_unique<ApiServer>(unasked(), HttpServerOptions(), nullptr, nullptr, nullptr, host()); });
  }
  static std::vector<float> expected(const std::string& text, const EmbedOptions& options = {}) {
    static const auto embedder = Embedder::load(folder().path());
    return embedder->embed(std::span(&text, 1), options).to_vector<float>();
  }
  static std::vector<float> vector_of(const OrderedJson& answer, size_t index = 0) {
    EXPECT_EQ(answer["data"][index]["index"], index);
    return answer["data"][index]["embedding"].get<std::vector<float>>();
  }
  static std::string error(const std::string& body, int status = 400) {
    const HttpAnswer answer = server().post(kPath, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    const OrderedJson error = OrderedJson::parse(answer.body)["error"];
    return cat(error["param"].is_string() ? error["param"].get<std::string>() : "", ": ",
               error["message"].get<std::string>());
  }
};

TEST_F(Embeddings, AreTheLibrarysBitForBit) {
  const OrderedJson one = server().answer(kPath, R"({"model": "tiny", "input": "w9 w10 w11"})");
  EXPECT_EQ(one["object"], "list");
  EXPECT_EQ(one["model"], "tiny");
  EXPECT_EQ(one["usage"], (OrderedJson{{"prompt_tokens", 5}, {"total_tokens", 5}}));
  EXPECT_EQ(vector_of(one), expected("w9 w10 w11"));
  const OrderedJson several = server().answer(kPath, R"({"input": ["w9", "w10 w11 w12 w13", "w9 w10 w11"]})");
  ASSERT_EQ(several["data"].size(), 3u);
  EXPECT_EQ(vector_of(several, 1), expected("w10 w11 w12 w13"));
  EXPECT_EQ(vector_of(several, 2), vector_of(one));
  EXPECT_EQ(several["usage"]["total_tokens"], 3 + 6 + 5);
}

TEST_F(Embeddings, TokensPromptsAndShorterVectors) {
  EXPECT_EQ(vector_of(server().answer(kPath, R"({"input": [2, 9, 10, 11, 3]})")), expected("w9 w10 w11"));
  const OrderedJson lists = server().answer(kPath, R"({"input": [[2, 9, 3], [2, 9, 10, 11, 3]]})");
  EXPECT_EQ(vector_of(lists, 1), expected("w9 w10 w11"));
  EXPECT_EQ(vector_of(server().answer(kPath, R"({"input": "w9", "prompt_name": "query"})")), expected("w9", {"w7 : "}));
  const std::string text = "w9";
  const Tensor whole = Embedder::load(folder().path())->embed(std::span(&text, 1));
  EXPECT_EQ(vector_of(server().answer(kPath, R"({"input": "w9", "dimensions": 8})")),
            shortened(whole, 8).to_vector<float>());
}

TEST_F(Embeddings, AsBytes) {
  const OrderedJson answer = server().answer(kPath, R"({"input": "w9 w10", "encoding_format": "base64"})");
  const auto bytes = decode_base64(answer["data"][0]["embedding"].get<std::string>());
  ASSERT_TRUE(bytes);
  std::vector<float> vector(64);
  ASSERT_EQ(bytes->size(), vector.size() * sizeof(float));
  std::memcpy(vector.data(), bytes->data(), bytes->size());
  EXPECT_EQ(vector, expected("w9 w10"));
}

TEST_F(Embeddings, LongTextsAreRefusedOrCut) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += cat("w", 9 + i, " ");
  EXPECT_EQ(error(OrderedJson({{"input", text}}).dump()),
            "input: input: the text has at least 102 tokens, the model takes 16");
  EXPECT_EQ(error(OrderedJson({{"input", {"w9", text}}}).dump()),
            "input[1]: input[1]: the text has at least 102 tokens, the model takes 16");
  const OrderedJson cut = server().answer(kPath, OrderedJson({{"input", text}, {"truncate", true}}).dump());
  EXPECT_EQ(cut["usage"]["total_tokens"], 16);
  EXPECT_EQ(vector_of(cut), expected(text, {{}, true}));
}

TEST_F(Embeddings, LongTextsMayBeTakenInParts) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += cat("w", 9 + i, " ");
  const OrderedJson answer = server().answer(kPath, OrderedJson({{"input", {"w9", text}}, {"chunk", true}}).dump());
  EXPECT_EQ(answer["data"].size(), 2u);
  EXPECT_EQ(answer["data"][0]["embedding"].get<std::vector<float>>(), expected("w9"));
  EXPECT_EQ(answer["usage"]["total_tokens"], 3 + 30 + 2 * 3);  // three parts
  EXPECT_EQ(error(R"({"input": "w9", "chunk": true, "truncate": true})"),
            "chunk: chunk and truncate exclude each other");
}

TEST_F(Embeddings, WhatMakesNoSenseIsTold) {
  EXPECT_EQ(error("{}"), "input: input is missing");
  EXPECT_EQ(error(R"({"input": ""})"), "input: input: there is nothing in the text");
  EXPECT_EQ(error(R"({"input": []})"), "input: input is empty");
  EXPECT_EQ(error(R"({"input": ["w9", ""]})"), "input[1]: input[1]: there is nothing in the text");
  EXPECT_EQ(error(R"({"input": [[2, 9], []]})"), "input[1]: input[1]: there are no tokens in it");
  EXPECT_EQ(error(R"({"input": [2, 200]})"), "input: input: 200 is no token of the model");
  EXPECT_EQ(error(R"({"input": "w9", "dimensions": 65})"),
            "dimensions: dimensions: 65 dimensions are asked for, there are 1 to 64");
  EXPECT_EQ(error(R"({"input": "w9", "prompt_name": "x"})"), ": there is no prompt 'x'; known are: 'query'");
  EXPECT_EQ(error(R"({"input": "w9", "encoding_format": "int8"})").substr(0, 16), "encoding_format:");
  EXPECT_EQ(error(R"({"input": "w9", "model": "big"})", 404),
            "model: there is no embedding model 'big'; known are: 'tiny'");
  EXPECT_EQ(error(OrderedJson({{"input", std::vector<std::string>(2049, "w9")}}).dump()),
            "input: input has 2049 texts, allowed are 2048");
  const ApiServer without(unasked());
  EXPECT_EQ(without.post(kPath, R"({"input": "w9"})").status, 404);
}

TEST_F(Embeddings, ModelsAreListedWithTheirTask) {
  const OrderedJson models = OrderedJson::parse(server().get("/v1/models").body)["data"];
  const auto found =
      std::find_if(models.begin(), models.end(), [](const auto& model) { return model["id"] == "tiny"; });
  ASSERT_NE(found, models.end());
  EXPECT_EQ((*found)["task"], "embeddings");
}

TEST_F(Embeddings, ManyAtOnceGetTheSame) {
  std::vector<std::thread> clients;
  std::vector<std::vector<float>> got(8);
  for (size_t i = 0; i < got.size(); ++i) {
    clients.emplace_back([&, i] {
      const std::string body = cat(R"({"input": ["w9 w10 w11", "w)", 20 + i, R"( w21", "w9"]})");
      for (int again = 0; again < 5; ++again) got[i] = vector_of(server().answer(kPath, body));
    });
  }
  for (std::thread& client : clients) client.join();
  for (const auto& vector : got) EXPECT_EQ(vector, expected("w9 w10 w11"));
}

TEST_F(Embeddings, TokensOfAKeyAreSpent) {
  HttpServerOptions options;
  options.keys = std::make_shared<ApiKeys>(ApiKeys::parse("a tokens=4", "keys"));
  const ApiServer limited(unasked(), options, nullptr, nullptr, nullptr, host());
  const HttpClient::Fields key = {{"Authorization", "Bearer a"}};
  EXPECT_EQ(limited.post(kPath, R"({"input": "w9 w10 w11"})", key).status, 200);
  EXPECT_EQ(limited.post(kPath, R"({"input": "w9"})", key).status, 429);
}

TEST_F(Embeddings, AShelfMayGoWhileItsJobsRun) {
  auto shelf = host();
  const auto exchange = std::make_shared<RecordedExchange>();
  std::promise<void> begun;
  answer_with(shelf, "tiny", "", Caller(), exchange, [&](const Embedder&, const std::string& name) {
    begun.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return name;
  });
  begun.get_future().wait();
  shelf = nullptr;  // waits for the job
  ASSERT_TRUE(exchange->sent);
  EXPECT_EQ(exchange->sent->body, "tiny");
}

}  // namespace
}  // namespace wick
