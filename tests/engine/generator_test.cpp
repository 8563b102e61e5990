#include "engine/text/generator.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "support/ember_talk.h"
#include "support/errors.h"
#include "support/needs_ember.h"

namespace wick {
namespace {

class GeneratorTest : public testing::Test {
 protected:
  GenerateResult generate(const std::string& question, const GenerateParams& params,
                          const GeneratorOptions& options = {}) const {
    Generator generator(model_, options);
    return generator.generate(prompt_of(model_, question), params);
  }
  // What somebody who reads along sees, all pieces together.
  std::string shown(const std::string& question, const GenerateParams& params, GenerateResult* result = nullptr) const {
    Generator generator(model_);
    std::string text;
    const GenerateResult found =
        generator.generate(prompt_of(model_, question), params, [&](const GenerateEvent& event) {
          text += event.text;
          return true;
        });
    EXPECT_EQ(text, found.text);
    if (result) *result = found;
    return text;
  }
  static GenerateParams sampled(uint64_t seed) {
    GenerateParams params;
    params.sampling.seed = seed;
    params.max_new_tokens = 60;
    return params;
  }

  void SetUp() override { WICK_NEEDS_EMBER(); }
  std::shared_ptr<const TextModel> model_ = ember_or_null();
  std::string story_ = "Tell me a story about a fox.";
};

TEST_F(GeneratorTest, StopStringsNeverLeak) {
  const std::string question = "Who are you?";
  const std::string whole =
      "I am Ember, the small model that comes with Wick. I know a few simple things and I like "
      "stories.";
  ASSERT_EQ(shown(question, greedy()), whole);
  for (const std::vector<std::string>& stops : {std::vector<std::string>{"small model that"},
                                                {"ll model th"},
                                                {"Wick"},
                                                {"ick. I kn"},
                                                {"I"},
                                                {"stories."},
                                                {"xyz", "mo", "model"},
                                                {"model that never", "that c"},
                                                {"m mm", "ember", "Em"},
                                                {" comes wit", "s with W"}}) {
    GenerateParams params = greedy();
    params.stop = stops;
    size_t first = std::string::npos;
    for (const auto& stop : stops) first = std::min(first, whole.find(stop));
    GenerateResult result;
    EXPECT_EQ(shown(question, params, &result), whole.substr(0, first)) << stops[0];
    EXPECT_EQ(result.reason, StopReason::kStopString);
    EXPECT_TRUE(whole.substr(first).starts_with(result.stop));
  }
  GenerateParams never = greedy();
  never.stop = {"stories. But", "", "with Wick!"};  // beginnings that come to nothing are shown in the end
  EXPECT_EQ(shown(question, never), whole);
}

TEST_F(GeneratorTest, CountsTokens) {
  EXPECT_EQ(generate(story_, greedy(0)).tokens.size(), 0u);
  EXPECT_EQ(generate(story_, greedy(0)).reason, StopReason::kLength);
  EXPECT_EQ(generate(story_, greedy(1)).tokens.size(), 1u);
  const GenerateResult seven = generate(story_, greedy(7));
  EXPECT_EQ(seven.tokens.size(), 7u);
  EXPECT_EQ(seven.reason, StopReason::kLength);
  EXPECT_EQ(seven.prompt_tokens, std::ssize(prompt_of(model_, story_)));
  GenerateParams on = greedy(300);
  on.ignore_end = true;
  EXPECT_EQ(generate("Who are you?", on).tokens.size(), 300u);
}

TEST_F(GeneratorTest, ContextIsALimit) {
  const auto prompt = prompt_of(model_, story_);
  const auto length = std::ssize(prompt);
  const GenerateResult full = generate(story_, greedy(-1), {.context = length + 10});
  EXPECT_EQ(full.reason, StopReason::kContextFull);
  EXPECT_EQ(std::ssize(full.tokens), 11) << "the last one needs no room of its own";
  EXPECT_EQ(generate(story_, greedy(-1), {.context = length}).tokens.size(), 1u);
  Generator small(model_, {.context = length - 1});
  EXPECT_ERROR(small.generate(prompt, greedy()), kInvalidArgument,
               cat("the prompt has ", length, " tokens, the context ", length - 1));
  EXPECT_ERROR(small.generate({}, greedy()), kInvalidArgument, "the prompt is empty");
  EXPECT_ERROR(small.generate(std::vector<int32_t>{1, 5000}, greedy()), kInvalidArgument, "outside the vocabulary");
  EXPECT_ERROR(Generator(model_, {.context = 4097}), kInvalidArgument, "4097 tokens is asked for, Ember has 4096");
  EXPECT_NO_THROW(small.generate(prompt_of(model_, "Hi"), greedy(3)));
}

TEST_F(GeneratorTest, CancelStopsAtOnceAndLeavesItUsable) {
  Generator generator(model_);
  const auto prompt = prompt_of(model_, story_);
  const auto expected = generator.generate(prompt, greedy()).tokens;
  for (const int64_t after : {0, 1, 10}) {
    int64_t tokens = 0;
    const GenerateResult result = generator.generate(prompt, greedy(), [&](const GenerateEvent& event) {
      tokens += event.kind == GenerateEvent::Kind::kToken;
      return tokens < after;
    });
    EXPECT_EQ(result.reason, StopReason::kCancelled);
    EXPECT_EQ(std::ssize(result.tokens), after);
    EXPECT_EQ(generator.generate(prompt, greedy()).tokens, expected);
  }
}

TEST_F(GeneratorTest, WhatIsUsedAgainChangesNothing) {
  Generator one(model_);
  for (const char* text : {"Tell me a story about a fox.", "Tell me a story about a fox.",
                           "Tell me a story about a bear.", "Who are you?", "Tell me a story about a fox."}) {
    Generator fresh(model_);
    const auto prompt = prompt_of(model_, text);
    const GenerateResult again = one.generate(prompt, sampled(5)), anew = fresh.generate(prompt, sampled(5));
    EXPECT_EQ(again.tokens, anew.tokens) << text;
    EXPECT_EQ(anew.reused_tokens, 0);
  }
  EXPECT_GT(one.generate(prompt_of(model_, story_), sampled(5)).reused_tokens, 0);
}

TEST_F(GeneratorTest, AnswersDoNotDependOnChunksOrThreads) {
  std::string list;
  for (int i = 0; i < 20; ++i) list += cat("The number of the box is ", 100 + i, ".\n");
  const std::string question = list + "Tell me a story about a fox.";
  const GenerateResult expected = generate(question, sampled(11));
  for (const int64_t chunk : {1, 7, 512}) {
    EXPECT_EQ(generate(question, sampled(11), {.prefill_chunk = chunk}).tokens, expected.tokens) << chunk;
  }
  EXPECT_EQ(generate(question, sampled(11), {.seconds_per_pass = 1e-6}).tokens, expected.tokens);
  const int threads = ThreadPool::instance().size();
  for (const int count : {1, 2, 3}) {
    ThreadPool::instance().resize(count);
    EXPECT_EQ(generate(question, sampled(11)).tokens, expected.tokens) << count << " threads";
  }
  ThreadPool::instance().resize(threads);
}

TEST_F(GeneratorTest, DraftsChangeNothing) {
  ModelDrafter ember(model_, *model_, {});
  LookupDrafter lookup(1, 4);
  for (const float temperature : {0.f, 1.f}) {
    for (const char* text : {"Tell me a story about a fox.", "Write the word lamp 6 times.", "What is 348 plus 275?"}) {
      GenerateParams params = sampled(3);
      params.sampling.temperature = temperature;
      const GenerateResult expected = generate(text, params);
      for (Drafter* drafter : {static_cast<Drafter*>(&lookup), static_cast<Drafter*>(&ember)}) {
        params.drafter = drafter;
        for (const int64_t ahead : {1, 5}) {
          params.draft_tokens = ahead;
          const GenerateResult result = generate(text, params);
          EXPECT_EQ(result.tokens, expected.tokens) << text;
          EXPECT_EQ(result.reason, expected.reason);
          EXPECT_LE(result.accepted, result.drafted);
        }
      }
      if (temperature == 0) {
        params.drafter = &ember;
        const GenerateResult result = generate(text, params);
        EXPECT_GE(result.accepted * 10, result.drafted * 6) << "its own drafts are right but for the end";
      }
    }
  }
}

TEST_F(GeneratorTest, GrammarsShapeTheAnswer) {
  GenerateParams params = greedy(200);
  params.grammar = Grammar::json_object(JsonLayout::kOneLine);
  const GenerateResult object = generate("Give me JSON with name and age: Tom is 7 years old.", params);
  EXPECT_EQ(Json::parse(object.text, "answer").at("name").as_text(), "Tom") << object.text;
  for (const uint64_t seed : {1, 2, 3}) {
    GenerateParams wild = sampled(seed);
    wild.max_new_tokens = 400;
    wild.grammar = Grammar::from_json_schema(
        Json::parse(R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
            "age": {"type": "integer", "minimum": 0, "maximum": 150}}, "required": ["name", "age"],
            "additionalProperties": false})",
                    "schema"),
        JsonLayout::kOneLine);
    const GenerateResult result = generate("Give me JSON with name and age: Tom is 7 years old.", wild);
    ASSERT_EQ(result.reason, StopReason::kEndOfText) << result.text;
    EXPECT_LE(Json::parse(result.text, "answer").at("age").as_int(), 150) << result.text;
  }
  params.grammar = Grammar::from_gbnf("root ::= \"yes\" | \"no\"");
  const std::string choice = generate("Are you a model?", params).text;
  EXPECT_TRUE(choice == "yes" || choice == "no") << choice;
}

TEST_F(GeneratorTest, EventsComeInOrder) {
  Generator generator(model_, {.prefill_chunk = 4});
  std::vector<GenerateEvent::Kind> kinds;
  int64_t done = 0;
  const auto prompt = prompt_of(model_, "Who are you?");
  generator.generate(prompt, greedy(), [&](const GenerateEvent& event) {
    kinds.push_back(event.kind);
    if (event.kind == GenerateEvent::Kind::kPrefill) {
      EXPECT_GT(event.done, done);
      EXPECT_EQ(event.total, std::ssize(prompt));
      done = event.done;
    }
    return true;
  });
  EXPECT_EQ(done, std::ssize(prompt));
  EXPECT_TRUE(std::is_sorted(kinds.begin(), kinds.end()));
  EXPECT_EQ(kinds.back(), GenerateEvent::Kind::kDone);
}

TEST_F(GeneratorTest, ControlTokensAreShownOnRequest) {
  GenerateParams params = greedy(40);
  params.ignore_end = true;
  EXPECT_EQ(generate("Who are you?", params).text.find("<|im_end|>"), std::string::npos);
  params.show_special = true;
  EXPECT_NE(generate("Who are you?", params).text.find("stories.<|im_end|>"), std::string::npos);
}

}  // namespace
}  // namespace wick
