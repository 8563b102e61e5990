#include "engine/text/text_engine.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "support/ember_talk.h"
#include "support/engine_requests.h"
#include "support/errors.h"
#include "support/needs_ember.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

EngineRequest request_of(std::vector<int32_t> prompt, int64_t max_new_tokens, float temperature = 0,
                         uint64_t seed = 0) {
  EngineRequest request;
  request.prompt = std::move(prompt);
  request.params.sampling.temperature = temperature;
  request.params.sampling.seed = seed;
  request.params.max_new_tokens = max_new_tokens;
  return request;
}

void expect_all_free(const TextEngine& engine) {
  const EngineSnapshot snapshot = engine.snapshot();
  EXPECT_EQ(snapshot.blocks_free + snapshot.blocks_cached, snapshot.blocks_total);
  EXPECT_EQ(snapshot.running + snapshot.waiting + snapshot.paused, 0);
  EXPECT_EQ(snapshot.counters.blocks_taken - snapshot.counters.blocks_freed, snapshot.blocks_cached);
}

// Ember with people of different wishes at once.
class EmberEngineTest : public testing::Test {
 protected:
  std::vector<EngineRequest> wishes() const {
    std::vector<EngineRequest> requests;
    for (const char* text : {"Who are you?", "Tell me a story about a fox.", "What is 12 plus 30?", "Hello!"}) {
      requests.push_back(request_of(prompt_of(model_, text), 40));
      requests.push_back(request_of(prompt_of(model_, text), 25, 0.9f, 7));
    }
    requests.push_back(requests[2]);
    requests.back().params.stop = {"the", "fox"};
    requests.push_back(requests[0]);
    requests.back().params.grammar = Grammar::from_gbnf("root ::= [a-z ]{5,20} \".\"");
    requests.push_back(requests[0]);
    requests.back().params.max_new_tokens = 0;
    return requests;
  }

  void SetUp() override { WICK_NEEDS_EMBER(); }
  std::shared_ptr<const TextModel> model_ = ember_or_null();
};

TEST_F(EmberEngineTest, AnswersTogetherAreThoseAlone) {
  const std::vector<EngineRequest> requests = wishes();
  for (const int64_t batch : {16, 512}) {
    TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20, .max_batch_tokens = batch});
    std::vector<Heard> heard(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) ASSERT_TRUE(engine.submit(requests[i], listen(heard[i])));
    run_to_end(engine);
    for (size_t i = 0; i < requests.size(); ++i) {
      const GenerateResult expected = alone(model_, requests[i]);
      ASSERT_TRUE(heard[i].is_over()) << i;
      EXPECT_EQ(heard[i].tokens[0], expected.tokens) << i;
      EXPECT_EQ(heard[i].text[0], expected.text) << i;
      EXPECT_EQ(heard[i].results[0].reason, expected.reason) << i;
      EXPECT_EQ(heard[i].results[0].text, expected.text) << i;
      EXPECT_EQ(heard[i].prompt_done, static_cast<int64_t>(requests[i].prompt.size())) << i;
    }
    expect_all_free(engine);
  }
}

TEST_F(EmberEngineTest, ThreadsAndDraftsChangeNothing) {
  const std::vector<EngineRequest> requests = wishes();
  const int before = ThreadPool::instance().size();
  ThreadPool::instance().resize(3);
  EngineOptions options{.context = 512, .kv_bytes = 64 << 20};
  options.drafter = [](const TextModel&) { return std::make_unique<LookupDrafter>(); };
  TextEngine engine(model_, options);
  std::vector<Heard> heard(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) engine.submit(requests[i], listen(heard[i]));
  run_to_end(engine);
  ThreadPool::instance().resize(before);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(heard[i].tokens[0], alone(model_, requests[i]).tokens) << i;
  EXPECT_GT(engine.snapshot().counters.accepted_tokens, 0);
  expect_all_free(engine);
}

TEST_F(EmberEngineTest, ChoicesShareThePromptAndDifferBySeed) {
  EngineRequest request = request_of(prompt_of(model_, "Tell me a story about a fox."), 30, 1.0f, 40);
  while (request.prompt.size() % 16 != 5) request.prompt.push_back(request.prompt.back());  // ends inside a block
  request.choices = 5;
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20, .prefix_cache = false});
  Heard heard;
  engine.submit(request, listen(heard));
  run_to_end(engine);
  ASSERT_TRUE(heard.is_over(5));
  for (int64_t choice = 0; choice < 5; ++choice) {
    EXPECT_EQ(heard.tokens[choice], alone(model_, request, choice).tokens) << choice;
  }
  EXPECT_NE(heard.tokens[0], heard.tokens[1]);
  const EngineCounters counters = engine.snapshot().counters;
  EXPECT_EQ(counters.prefill_tokens, static_cast<int64_t>(request.prompt.size()));  // once
  EXPECT_GT(counters.blocks_copied, 0);
  expect_all_free(engine);
}

TEST_F(EmberEngineTest, EqualRequestsComputeOnce) {
  const EngineRequest request = request_of(prompt_of(model_, "Who are you?"), 40);
  const GenerateResult expected = alone(model_, request);
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20});
  std::vector<Heard> heard(4);
  engine.submit(request, listen(heard[0]));
  engine.submit(request, listen(heard[1]));
  for (int i = 0; i < 6; ++i) engine.step();
  engine.submit(request, listen(heard[2]));  // has missed some
  const auto leaving = engine.submit(request, listen(heard[3]));
  engine.step();
  engine.cancel(*leaving);
  run_to_end(engine);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(heard[i].tokens[0], expected.tokens) << i;
    EXPECT_EQ(heard[i].text[0], expected.text) << i;
  }
  ASSERT_TRUE(heard[3].is_over());
  EXPECT_EQ(heard[3].results[0].reason, StopReason::kCancelled);
  EXPECT_LT(heard[3].tokens[0].size(), expected.tokens.size());
  const EngineCounters counters = engine.snapshot().counters;
  EXPECT_EQ(counters.coalesced, 3);
  EXPECT_EQ(counters.generated_tokens, static_cast<int64_t>(expected.tokens.size()));
}

TEST_F(EmberEngineTest, APromptSeenBeforeIsNotReadAgain) {
  std::vector<int32_t> prompt = prompt_of(model_, "Tell me a story about a fox and a hen who live near a river.");
  prompt.resize(prompt.size() / 16 * 16 + 3, prompt.front());
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20});
  Heard first, second;
  engine.submit(request_of(prompt, 20), listen(first));
  run_to_end(engine);
  engine.submit(request_of(prompt, 20, 0.8f, 5), listen(second));
  run_to_end(engine);
  EXPECT_EQ(first.results[0].reused_tokens, 0);
  EXPECT_EQ(second.results[0].reused_tokens, static_cast<int64_t>(prompt.size()) - 1);
  EXPECT_EQ(second.tokens[0], alone(model_, request_of(prompt, 20, 0.8f, 5)).tokens);
  // The answer is known too but for its last token: going on from it costs that and what is new.
  std::vector<int32_t> longer = prompt;
  longer.insert(longer.end(), first.tokens[0].begin(), first.tokens[0].end());
  longer.insert(longer.end(), prompt.begin(), prompt.begin() + 5);
  Heard third;
  engine.submit(request_of(longer, 20), listen(third));
  run_to_end(engine);
  EXPECT_GE(third.results[0].reused_tokens, static_cast<int64_t>(prompt.size() + first.tokens[0].size()) - 1);
  EXPECT_EQ(third.tokens[0], alone(model_, request_of(longer, 20)).tokens);
}

TEST_F(EmberEngineTest, PromptsThatBeginAlikeAreReadTogether) {
  const std::vector<int32_t> start = prompt_of(model_, "Tell me a story about a fox and a hen who live near a river.");
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20});
  std::vector<Heard> heard(6);
  for (int32_t i = 0; i < 6; ++i) {
    std::vector<int32_t> prompt = start;
    prompt.push_back(100 + i);
    engine.submit(request_of(prompt, 4), listen(heard[static_cast<size_t>(i)]));
  }
  run_to_end(engine);
  const auto shared = static_cast<int64_t>(start.size()) / 16 * 16;
  EXPECT_EQ(engine.snapshot().counters.reused_tokens, 5 * shared);
}

TEST_F(EmberEngineTest, LogProbabilitiesOfThePrompt) {
  EngineRequest request = request_of(prompt_of(model_, "Who are you?"), 3);
  request.prompt_logprobs = 2;
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20, .max_batch_tokens = 16});
  Heard heard;
  engine.submit(request, listen(heard));
  run_to_end(engine);
  ASSERT_EQ(heard.prompt.size(), request.prompt.size() - 1);
  Generator generator(model_, {.context = 512});
  generator.score(request.prompt, [&](int64_t first, std::span<const TokenLogits> rows) {
    for (int64_t row = 0; row < std::ssize(rows) && first + row + 1 < static_cast<int64_t>(request.prompt.size());
         ++row) {
      const auto position = static_cast<size_t>(first + row + 1);
      const std::span<const float> values = rows[static_cast<size_t>(row)].logits;
      double total = 0;
      for (const float value : values) total += std::exp(static_cast<double>(value));
      const int32_t token = request.prompt[position];
      const SampledToken& choice = heard.prompt[position - 1];
      EXPECT_EQ(choice.token, token);
      EXPECT_NEAR(choice.logprob, values[static_cast<size_t>(token)] - std::log(total), 1e-4);
      ASSERT_EQ(choice.top.size(), 2u);
      EXPECT_GE(choice.top[0].second, choice.top[1].second);
    }
  });
}

TEST_F(EmberEngineTest, ACancelFreesEverythingWithinAStep) {
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20, .max_batch_tokens = 16, .prefix_cache = false});
  const std::vector<int32_t> prompt = prompt_of(model_, "Tell me a story about a fox and a hen who live near a river.");
  for (const int steps : {0, 1, 2, 8}) {  // in the queue, in the prompt, in the answer
    Heard heard;
    EngineRequest request = request_of(prompt, 200, 1.0f, 3);
    request.choices = 3;
    const auto id = engine.submit(request, listen(heard));
    for (int i = 0; i < steps; ++i) engine.step();
    EXPECT_FALSE(heard.is_over(3));
    engine.cancel(*id);
    engine.step();
    ASSERT_TRUE(heard.is_over(3)) << steps;
    EXPECT_EQ(heard.results[2].reason, StopReason::kCancelled);
    EXPECT_EQ(engine.snapshot().blocks_free, engine.snapshot().blocks_total) << steps;
    engine.cancel(*id);  // again: nothing happens
    EXPECT_FALSE(engine.step());
  }
}

TEST_F(EmberEngineTest, DeadlinesEndWithWhatThereIs) {
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20});
  EngineRequest request = request_of(prompt_of(model_, "Tell me a story about a fox."), -1);
  request.params.ignore_end = true;
  request.deadline = EngineClock::now() - std::chrono::seconds(1);
  Heard late;
  engine.submit(request, listen(late));
  engine.step();
  EXPECT_EQ(late.results[0].reason, StopReason::kDeadline);
  EXPECT_TRUE(late.tokens[0].empty());
  request.deadline = EngineClock::now() + std::chrono::milliseconds(60);
  Heard soon;
  engine.submit(request, listen(soon));
  run_to_end(engine);
  EXPECT_EQ(soon.results[0].reason, StopReason::kDeadline);
  EXPECT_FALSE(soon.tokens[0].empty());
  expect_all_free(engine);
}

TEST_F(EmberEngineTest, AFullQueueTurnsAway) {
  TextEngine engine(model_, {.context = 128, .kv_bytes = 64 << 20, .max_running = 1, .max_waiting = 2});
  std::vector<Heard> heard(4);
  const auto submit = [&](size_t i) {
    return engine.submit(request_of({1, static_cast<int32_t>(i)}, 3), listen(heard[i])).has_value();
  };
  EXPECT_TRUE(submit(0));
  EXPECT_TRUE(submit(1));
  EXPECT_FALSE(submit(2));
  engine.step();  // one runs, one waits
  EXPECT_TRUE(submit(2));
  EXPECT_FALSE(submit(3));
  EXPECT_GE(engine.retry_after(), 1);
  run_to_end(engine);
  EXPECT_TRUE(heard[0].is_over() && heard[1].is_over() && heard[2].is_over());
  EXPECT_EQ(engine.snapshot().counters.turned_away, 2);
}

TEST_F(EmberEngineTest, WhatCannotBeAnsweredIsRefused) {
  TextEngine engine(model_, {.context = 32, .kv_bytes = 64 << 20});
  const auto submit = [&](EngineRequest request) { engine.submit(std::move(request), [](const RequestEvent&) {}); };
  EXPECT_ERROR(submit(request_of({}, 3)), kInvalidArgument, "the prompt is empty");
  EXPECT_ERROR(submit(request_of(std::vector<int32_t>(33, 1), 3)), kInvalidArgument,
               "the prompt has 33 tokens, the context 32");
  EXPECT_ERROR(submit(request_of({-1}, 3)), kInvalidArgument, "token -1 of the prompt is outside the vocabulary of");
  EngineRequest request = request_of({1}, 3);
  request.choices = 0;
  EXPECT_ERROR(submit(request), kInvalidArgument, "0 choices are asked for; 1 to 128 can be");
  request = request_of({1}, 3);
  request.params.sampling.top_p = 2;
  EXPECT_ERROR(submit(request), kInvalidArgument, "top_p");
  const EngineOptions tiny{.context = 512, .kv_bytes = 1 << 16};
  EXPECT_ERROR(TextEngine(model_, tiny), kOutOfMemory, "keys and values of 512 tokens need");
  EXPECT_FALSE(engine.step());
}

TEST_F(EmberEngineTest, HooksSeeEveryTokenOfTheirOwnRequestAlone) {
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20, .max_batch_tokens = 24});
  const std::vector<int32_t> prompt = prompt_of(model_, "Tell me a story about a fox.");
  std::vector<Heard> heard(3);
  engine.submit(request_of(prompt, 12), listen(heard[0]));
  run_to_end(engine);
  EngineRequest hooked = request_of(prompt, 12);
  hooked.hooks.capture("blocks.1.hook_resid_post").zero("blocks.0.hook_mlp_out");
  hooked.capture = std::make_shared<HookCache>();
  engine.submit(hooked, listen(heard[1]));
  engine.submit(request_of(prompt, 12, 0.5f, 1), listen(heard[2]));
  run_to_end(engine);
  EXPECT_EQ(heard[1].results[0].reused_tokens, 0);
  GenerateParams params = greedy(12);
  params.hooks = hooked.hooks;
  HookCache expected;
  params.capture = &expected;
  Generator generator(model_, {.context = 512});
  EXPECT_EQ(heard[1].tokens[0], generator.generate(prompt, params).tokens);
  EXPECT_EQ(hooked.capture->at("blocks.1.hook_resid_post").to_vector<float>(),
            expected.at("blocks.1.hook_resid_post").to_vector<float>());
  EXPECT_EQ(heard[2].tokens[0], alone(model_, request_of(prompt, 12, 0.5f, 1)).tokens);  // unharmed
}

TEST_F(EmberEngineTest, HooksThatFailFailTheirRequestAlone) {
  TextEngine engine(model_, {.context = 512, .kv_bytes = 64 << 20});
  const std::vector<int32_t> prompt = prompt_of(model_, "Tell me a story about a fox.");
  const auto last = static_cast<int64_t>(prompt.size());
  std::vector<Heard> heard(4);
  EngineRequest wrong_head = request_of(prompt, 12), late = request_of(prompt, 12);
  wrong_head.hooks.zero("blocks.1.attn.hook_z", {{}, {99}});
  late.hooks.call("blocks.2.hook_resid_post", [&](const Tensor& values, const HookMoment& moment) {
    if (moment.positions.front() == last + 3) throw Error(ErrorCode::kUnsupported, "no fourth token");
    return values;
  });
  engine.submit(request_of(prompt, 12), listen(heard[0]));
  engine.submit(wrong_head, listen(heard[1]));
  engine.submit(late, listen(heard[2]));
  engine.submit(request_of(prompt, 12, 0.5f, 1), listen(heard[3]));
  run_to_end(engine);
  EXPECT_NE(heard[1].error.value_or("").find("head 99 is asked for"), std::string::npos);
  EXPECT_EQ(heard[2].error, "no fourth token");
  EXPECT_EQ(heard[2].tokens[0].size(), 4u);
  EXPECT_EQ(heard[0].tokens[0], alone(model_, request_of(prompt, 12)).tokens);
  EXPECT_EQ(heard[3].tokens[0], alone(model_, request_of(prompt, 12, 0.5f, 1)).tokens);
  expect_all_free(engine);
}

}  // namespace
}  // namespace wick
