// The public headers' models and conversations, against what is behind them and against what the options promise.
#include "wick/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/text/conversation.h"
#include "support/needs_ember.h"

namespace wick {
namespace {

class PublicText : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
};

TEST_F(PublicText, AnswersAsTheConversationBehindItDoes) {
  const auto behind = TextModel::ember();
  Conversation conversation(behind);
  GenerateParams params;
  params.sampling = behind->recommended();
  const auto go_on = [](const ReplyEvent&) { return true; };
  Chat chat(Model::ember());
  for (const char* message : {"My name is Tom. I have a fox.", "Which animal do I have?"}) {
    const Reply expected = conversation.ask(message, params, go_on);
    const Answer answer = chat.ask(message);
    EXPECT_EQ(answer.content, expected.response.content) << message;
    EXPECT_EQ(answer.result.tokens, expected.result.tokens) << message;
    EXPECT_EQ(answer.result.prompt_tokens, expected.result.prompt_tokens) << message;
  }
}

TEST_F(PublicText, EventsAddUpToTheAnswer) {
  Chat chat(Model::ember());
  std::string shown;
  int64_t prefilled = 0;
  const Answer answer = chat.ask("Who are you?", {}, [&](const TextEvent& event) {
    if (event.kind == TextEvent::Kind::kPrefill) prefilled = event.done;
    shown += event.text;
    return true;
  });
  EXPECT_FALSE(shown.empty());
  EXPECT_EQ(shown, answer.content);
  EXPECT_EQ(prefilled, answer.result.prompt_tokens);
  EXPECT_EQ(answer.result.reason, StopReason::kEndOfText);
}

TEST_F(PublicText, AFalseFromTheCallbackCancels) {
  Chat chat(Model::ember());
  const Answer answer = chat.ask("Tell me a story.", {},
                                 [](const TextEvent& event) { return event.text.find("time") == std::string::npos; });
  EXPECT_EQ(answer.result.reason, StopReason::kCancelled);
  EXPECT_TRUE(answer.content.ends_with("time")) << answer.content;
}

TEST_F(PublicText, OptionsBindTheText) {
  TextGenerator generator(Model::ember());
  TextOptions options;
  options.max_tokens = 3;
  EXPECT_EQ(generator.generate("Once upon a time", options).result.tokens.size(), 3u);
  options.max_tokens = 60;
  options.json_schema = R"({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"],
                            "additionalProperties": false})";
  const auto json = nlohmann::json::parse(Chat(Model::ember()).ask("Tom is 7 years old.", options).content);
  EXPECT_TRUE(json.at("age").is_number_integer());
  EXPECT_EQ(json.size(), 1u);
  options.json_schema.clear();
  options.grammar = R"(root ::= "yes" | "no")";
  const std::string word = generator.generate("Is it?", options).content;
  EXPECT_TRUE(word == "yes" || word == "no") << word;
}

TEST_F(PublicText, RefusesWhatCannotBe) {
  TextGenerator generator(Model::ember());
  const auto code_of = [&](const TextOptions& options) {
    try {
      generator.generate("Hello", options);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  TextOptions both;
  both.grammar = "root ::= \"a\"";
  both.json_schema = "{}";
  EXPECT_EQ(code_of(both), ErrorCode::kInvalidArgument);
  TextOptions broken;
  broken.json_schema = "{";
  EXPECT_EQ(code_of(broken), ErrorCode::kBadFile);
  TextOptions sampled;
  sampled.sampling = SamplingParams{};
  sampled.sampling->top_p = 1.5f;
  EXPECT_EQ(code_of(sampled), ErrorCode::kInvalidArgument);
  EXPECT_THROW(Model::load("/nowhere/model"), Error);
  EXPECT_THROW(Chat(Model::ember()).set_tools("[1"), Error);
}

TEST_F(PublicText, DecodesWhatItEncodes) {
  const Model model = Model::ember();
  for (const char* text : {"Once upon a time", " two  spaces\n", "Grüße, 世界"}) {
    EXPECT_EQ(model.decode(model.encode(text)), text);
  }
}

}  // namespace
}  // namespace wick
