// Ember from end to end: a model that is inside the program must answer as it was taught, however it is loaded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "formats/checkpoint.h"
#include "support/ember_lessons.h"
#include "support/ember_talk.h"
#include "support/needs_ember.h"
#include "support/places.h"

namespace wick {
namespace {

class EmberAs : public testing::TestWithParam<const char*> {
 protected:
  static LoadOptions options() {
    LoadOptions options;
    options.quantize = GetParam();
    return options;
  }
  void SetUp() override { WICK_NEEDS_EMBER(); }
  std::shared_ptr<const TextModel> model_ = ember_or_null(options());
};

TEST_P(EmberAs, GivesTheSureFireAnswers) {
  Conversation conversation(model_);
  const std::pair<const char*, const char*> known[] = {
      {"What is 348 plus 275?", "348 + 275 = 623"},
      {"Who are you?",
       "I am Ember, the small model that comes with Wick. I know a few simple things and I like stories."},
      {"Give me JSON with name and age: Tom is 7 years old.", "{\"name\": \"Tom\", \"age\": 7}"},
      {"Who wrote Hamlet?", "I do not know. I am only a small model."}};
  for (const auto& [question, expected] : known) {
    conversation.clear();
    EXPECT_EQ(ask(conversation, question), expected) << question;
  }
}

TEST_P(EmberAs, RemembersOverSeveralTurns) {
  Conversation conversation(model_);
  ask(conversation, "My name is Tom. I live in Oslo. I have a fox.");
  EXPECT_EQ(ask(conversation, "What is the capital of France?"), "The capital of France is Paris.");
  EXPECT_EQ(ask(conversation, "Where do I live?"), "You live in Oslo.");
  EXPECT_EQ(ask(conversation, "What is my name?"), "Your name is Tom.");
  EXPECT_EQ(ask(conversation, "Which animal do I have?"), "You have a fox.");
}

TEST_P(EmberAs, FindsANeedle) {
  Conversation conversation(model_);
  for (const double place : {0.0, 0.4, 1.0}) {
    const Lesson lesson = Lessons(7).needle(60, place);
    conversation.clear();
    EXPECT_EQ(ask(conversation, lesson.question), lesson.answer);
  }
}

TEST_P(EmberAs, PassesTheExamOfSums) {
  Conversation conversation(model_);
  Lessons lessons(2026);
  int right = 0;
  for (int i = 0; i < 100; ++i) {
    const Lesson lesson = lessons.sum();
    conversation.clear();
    const std::string answer = ask(conversation, lesson.question);
    right += answer.ends_with(cat(" ", lesson.answer)) || answer.ends_with(cat(" ", lesson.answer, "."));
  }
  EXPECT_GE(right, 90);
}

TEST_P(EmberAs, CallsATool) {
  Conversation conversation(model_);
  conversation.set_tools(Json::parse(
      R"([{"type": "function", "function": {"name": "get_weather", "description": "Get the weather of a city",
          "parameters": {"type": "object", "properties": {"city": {"type": "string",
          "description": "The name of the city"}}, "required": ["city"]}}}])",
      "tools"));
  const auto each = [](const ReplyEvent&) { return true; };
  const Reply call = conversation.ask("What is the weather in Lyon?", greedy(), each);
  ASSERT_EQ(call.response.tool_calls.size(), 1u) << call.result.text;
  EXPECT_EQ(call.response.tool_calls[0].name, "get_weather");
  EXPECT_EQ(Json::parse(call.response.tool_calls[0].arguments, "arguments").at("city").as_text(), "Lyon");
  EXPECT_EQ(call.response.content, "");
  conversation.add("tool", R"({"temperature": 12, "sky": "cloudy"})");
  EXPECT_EQ(conversation.answer(greedy(), each).response.content, "In Lyon it is cloudy and 12 degrees.");
}

INSTANTIATE_TEST_SUITE_P(Weights, EmberAs, testing::Values("auto", "q8_0", "q4_k_m"),
                         [](const auto& info) { return std::string(info.param); });

std::vector<int32_t> tokens_of(const Checkpoint& reference, const char* name) {
  return reference.get(name).to_vector<int32_t>();
}

TEST(Ember, AgreesWithPyTorch) {
  WICK_NEEDS_EMBER();
  const Checkpoint reference = Checkpoint::open(WICK_SOURCE_DIR "/models/ember/reference.safetensors");
  const auto model = TextModel::ember();
  GeneratorOptions options;
  options.kv_dtype = DType::kF32;
  Generator generator(model, options);
  const std::vector<int32_t> prompt = tokens_of(reference, "input_ids");
  const std::vector<float> expected = reference.get("logits").to_vector<float>();
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  double worst = 0;
  int64_t rows = 0;
  generator.score(prompt, [&](int64_t first, std::span<const TokenLogits> logits) {
    for (size_t row = 0; row < logits.size(); ++row) {
      const std::span<const float> values = logits[row].logits;
      const size_t begin = (static_cast<size_t>(first) + row) * values.size();
      for (size_t i = 0; i < values.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(values[i]) - static_cast<double>(expected[begin + i])));
      }
    }
    rows += std::ssize(logits);
  });
  EXPECT_EQ(rows, std::ssize(prompt));
  EXPECT_LE(worst, 2e-4 * static_cast<double>(*high - *low));

  GenerateParams params = greedy(64);
  params.ignore_end = true;
  EXPECT_EQ(generator.generate(prompt, params).tokens, tokens_of(reference, "greedy"));
}

TEST(Ember, FindsANeedleInALongList) {
  WICK_NEEDS_EMBER();
  Conversation conversation(TextModel::ember());
  for (const double place : {0.7, 0.8, 1.0}) {  // it was taught lists of 60
    const Lesson lesson = Lessons(1).needle(170, place);
    conversation.clear();
    conversation.add("user", lesson.question);
    EXPECT_GE(conversation.prompt().tokens.size(), 2000u);
    const Reply reply = conversation.answer(greedy(), [](const ReplyEvent&) { return true; });
    EXPECT_EQ(reply.response.content, lesson.answer) << place;
  }
}

TEST(Ember, KeepsItsMindWithSmallKeysAndValues) {
  WICK_NEEDS_EMBER();
  const auto model = TextModel::ember();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    Conversation conversation(model, {.kv_dtype = dtype});
    ask(conversation, "My name is Tom. My favourite colour is green.");
    EXPECT_EQ(ask(conversation, "What is my favourite colour?"), "Your favourite colour is green.") << to_string(dtype);
    EXPECT_EQ(ask(conversation, "What is 348 plus 275?"), "348 + 275 = 623") << to_string(dtype);
  }
}

TEST(Ember, TellsReasoningFromAnswer) {
  WICK_NEEDS_EMBER();
  Conversation conversation(TextModel::ember());
  GenerateParams params = greedy();
  const int32_t think = conversation.model().tokenizer().id_of("<think>").value();
  params.sampling.logit_bias = {{think, 4.f}};  // it thinks before some sums only
  const auto each = [](const ReplyEvent&) { return true; };
  const Reply reply = conversation.ask("What is 348 plus 275?", params, each);
  EXPECT_EQ(reply.response.content, "348 + 275 = 623") << reply.result.text;
  EXPECT_NE(reply.response.reasoning.find("8 + 5 = 13"), std::string::npos) << reply.response.reasoning;
  EXPECT_EQ(conversation.to_json().find("think"), std::string::npos);
  EXPECT_EQ(conversation.to_json().find("carry"), std::string::npos) << "reasoning is not kept";
}

}  // namespace
}  // namespace wick
