// POST /v1/completions with models that read a prompt with an encoder, and with beams, against the library.
#include <gtest/gtest.h>

#include <set>

#include "engine/text/generator.h"
#include "support/api_server.h"
#include "support/temp_folder.h"
#include "support/tiny_seq2seq.h"

namespace wick {
namespace {

constexpr char kPath[] = "/v1/completions";

class EncoderDecoderServer : public testing::Test {
 protected:
  static const std::filesystem::path& folder() {
    static const TempFolder folder;
    static const bool is_written = [] {
      TinySeq2Seq("m2m_100").write_with_tokenizer(folder.path());
      return true;
    }();
    EXPECT_TRUE(is_written);
    return folder.path();
  }
  static ApiServer& server() {
    static ApiServer server({{"tiny", folder(), {}, {}}});
    return server;
  }
  static std::string expected(const std::string& prompt, const std::function<void(GenerateParams&)>& change) {
    static const auto model = TextModel::load(folder());
    Generator generator(model, {.beams = 8});
    GenerateParams params;
    params.max_new_tokens = 9;
    params.sampling.temperature = 0;
    change(params);
    return generator.generate(model->tokenizer().encode(prompt), params).text;
  }
  static std::string error(const std::string& body) {
    const HttpAnswer answer = server().post(kPath, body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    const OrderedJson error = OrderedJson::parse(answer.body)["error"];
    return error["message"].get<std::string>();
  }
};

TEST_F(EncoderDecoderServer, TextsAreTheLibrarys) {
  const std::vector<std::string> prompts = {"a9 a10 a11", "a30", "a1 a44 a3 a4", "a49"};
  const OrderedJson plain =
      server().answer(kPath, OrderedJson{{"prompt", prompts}, {"max_tokens", 9}, {"ignore_eos", true}}.dump());
  EXPECT_EQ(plain["usage"]["prompt_tokens"], 9);
  std::set<std::string> different;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string text = plain["choices"][i]["text"];
    EXPECT_EQ(text, expected(prompts[i], [](GenerateParams& params) { params.ignore_end = true; }));
    different.insert(text);
  }
  EXPECT_GT(different.size(), 1u);

  const OrderedJson searched = server().answer(
      kPath, R"({"prompt": "a9 a10 a11", "max_tokens": 9, "num_beams": 4, "length_penalty": 2, "begins_with": "<fr>",
                 "early_stopping": "never", "no_repeat_ngram_size": 2, "n": 2})");
  ASSERT_EQ(searched["choices"].size(), 2u);
  EXPECT_EQ(searched["choices"][0]["text"], expected("a9 a10 a11", [](GenerateParams& params) {
              params.beams = {4, 2, EarlyStopping::kNever, 2};
              params.begins_with = "<fr>";
            }));
  EXPECT_NE(searched["choices"][0]["text"], searched["choices"][1]["text"]);
}

TEST_F(EncoderDecoderServer, WhatDoesNotFitIsRefused) {
  std::string words;
  for (int i = 0; i < 21; ++i) words += "a9 ";
  EXPECT_EQ(error(cat(R"({"prompt": ")", words, R"("})")), "prompt takes at least 21 tokens, but the context is 20");
  EXPECT_NE(error(R"({"prompt": "a9", "echo": true})").find("does not continue prompts"), std::string::npos);
  EXPECT_NE(error(R"({"prompt": "a9", "num_beams": 4, "temperature": 0.7})").find("expected 0"), std::string::npos);
  EXPECT_NE(error(R"({"prompt": "a9", "length_penalty": 2})").find("num_beams is not above 1"), std::string::npos);
  EXPECT_NE(error(R"({"prompt": "a9", "num_beams": 65})").find("num_beams"), std::string::npos);
  EXPECT_NE(error(R"({"prompt": "a9", "begins_with": "a9"})").find("no control token"), std::string::npos);
}

}  // namespace
}  // namespace wick
