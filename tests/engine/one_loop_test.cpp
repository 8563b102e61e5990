// A generator on the caller's thread and a busy engine on its own: the same answers, to the last bit.
#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "support/comes_true.h"
#include "support/engine_requests.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

struct Heads {
  std::vector<SampledToken> choices;
  std::string text;
  std::optional<GenerateResult> result;
};

class OneLoopTest : public testing::TestWithParam<const char*> {
 protected:
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  EngineRequest some_request() {
    EngineRequest request;
    request.prompt = some_tokens(static_cast<size_t>(below(60)), static_cast<uint32_t>(below(2)));
    const std::vector<int32_t> tail = some_tokens(static_cast<size_t>(1 + below(20)), static_cast<uint32_t>(below(9)));
    request.prompt.insert(request.prompt.end(), tail.begin(), tail.end());
    SamplingParams& sampling = request.params.sampling;
    sampling.temperature = below(3) == 0 ? 0.0f : 1.0f;
    sampling.seed = static_cast<uint64_t>(below(1000));
    if (below(2)) sampling.logprobs = below(3);
    if (below(3) == 0) sampling.top_k = 1 + below(30);
    if (below(3) == 0) sampling.top_p = 0.8f;
    if (below(4) == 0) sampling.repetition_penalty = 1.2f;
    request.params.max_new_tokens = below(8) == 0 ? -1 : below(40);
    request.params.ignore_end = below(3) != 0;
    if (below(4) == 0) request.params.stop = {"a", "the"};
    request.priority = static_cast<Priority>(below(kPriorities));
    return request;
  }

  std::mt19937 random_{7};
};

void expect_same(const Heads& a, const Heads& b, int which) {
  ASSERT_TRUE(a.result && b.result) << which;
  EXPECT_EQ(a.text, b.text) << which;
  EXPECT_EQ(a.result->text, b.result->text) << which;
  EXPECT_EQ(a.result->tokens, b.result->tokens) << which;
  EXPECT_EQ(a.result->reason, b.result->reason) << which;
  ASSERT_EQ(a.choices.size(), b.choices.size()) << which;
  for (size_t i = 0; i < a.choices.size(); ++i) {
    EXPECT_EQ(a.choices[i].token, b.choices[i].token) << which;
    EXPECT_EQ(a.choices[i].logprob, b.choices[i].logprob) << which;
    EXPECT_EQ(a.choices[i].top, b.choices[i].top) << which;
  }
}

TEST_P(OneLoopTest, AnInlineGeneratorAndABusyEngineAnswerAlike) {
  const std::shared_ptr<const TextModel> model = tiny_text_model(GetParam());
  const int64_t block = KvCache::bytes_per_block(model->model().facts().kv_layers, DType::kF16);
  EngineOptions options{.context = 160, .kv_bytes = std::max<int64_t>(block * 24, 1 << 16), .max_batch_tokens = 48};
  options.drafter = [](const TextModel&) { return std::make_unique<LookupDrafter>(1, 3); };
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 60; ++i) requests.push_back(some_request());
  std::vector<Heads> heard(requests.size());
  std::atomic<int> left = static_cast<int>(requests.size());
  TextEngine engine(model, options);
  {
    const EngineThread thread(engine);
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(engine.submit(requests[i], [&left, mine = &heard[i]](const RequestEvent& event) {
        if (event.token) mine->choices.push_back(*event.token);
        mine->text += event.text;
        if (event.result) mine->result = *event.result;
        if (event.result || event.error) --left;
      }));
    }
    EXPECT_TRUE(comes_true([&] { return left == 0; }));
  }
  Generator generator(model, {.context = 160});
  LookupDrafter lookup(1, 3);
  for (size_t i = 0; i < requests.size(); ++i) {
    GenerateParams params;
    static_cast<GenerationParams&>(params) = requests[i].params;
    if (i % 3 == 0) params.drafter = &lookup;
    Heads alone;
    alone.result = generator.generate(requests[i].prompt, params, [&](const GenerateEvent& event) {
      if (event.token) alone.choices.push_back(*event.token);
      alone.text += event.text;
      return true;
    });
    expect_same(alone, heard[i], static_cast<int>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(All, OneLoopTest, testing::Values("qwen3", "mistral", "lfm2", "mamba2", "rwkv"),
                         [](const auto& test) { return std::string(test.param); });

// What is said next begins with what was said: only the new tokens and the last one are computed.
TEST(GeneratorReuseTest, ATurnCostsWhatIsNew) {
  for (const char* family : {"qwen3", "mamba2", "lfm2"}) {
    const auto model = tiny_text_model(family);
    Generator generator(model, {.context = 256});
    GenerateParams params;
    params.sampling.temperature = 0;
    params.ignore_end = true;
    std::vector<int32_t> text = some_tokens(21, 1);
    for (uint32_t turn = 0; turn < 5; ++turn) {
      params.max_new_tokens = 7 + turn;
      const GenerateResult result = generator.generate(text, params);
      EXPECT_EQ(result.tokens, Generator(model, {.context = 256}).generate(text, params).tokens) << family;
      if (turn > 0) {
        EXPECT_EQ(result.reused_tokens, std::ssize(text) - 6) << family << ", turn " << turn;
      }
      text.insert(text.end(), result.tokens.begin(), result.tokens.end());
      const std::vector<int32_t> more = some_tokens(5, 2 + turn);
      text.insert(text.end(), more.begin(), more.end());
    }
  }
}

// A text that takes all of the context parts from an earlier one inside its last block.
TEST(GeneratorReuseTest, AFullContextFindsRoom) {
  const auto model = tiny_text_model("qwen3");
  Generator generator(model, {.context = 64});
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = 1;
  std::vector<int32_t> text = some_tokens(64, 1);
  for (const size_t parts_at : {60, 50, 49, 33, 5}) {
    generator.generate(text, params);
    for (size_t i = parts_at; i < text.size(); ++i) text[i] = (text[i] + 1) % 100;
    EXPECT_EQ(generator.generate(text, params).tokens, Generator(model, {.context = 64}).generate(text, params).tokens);
  }
}

// What a callback throws comes out, and the generator goes on as before.
TEST(GeneratorReuseTest, CallbacksMayThrow) {
  const auto model = tiny_text_model("qwen3");
  Generator generator(model, {.context = 64});
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = 8;
  const std::vector<int32_t> text = some_tokens(20, 1);
  const auto expected = generator.generate(text, params).tokens;
  for (const size_t after : {0, 1, 3}) {
    size_t heard = 0;
    const auto fails = [&](const GenerateEvent&) -> bool {
      if (heard++ == after) throw std::runtime_error("enough");
      return true;
    };
    EXPECT_THROW(generator.generate(text, params, fails), std::runtime_error);
    EXPECT_EQ(generator.generate(text, params).tokens, expected);
  }
  const auto scores = [](int64_t, std::span<const TokenLogits>) { throw std::runtime_error("enough"); };
  EXPECT_THROW(generator.score(text, scores), std::runtime_error);
  EXPECT_EQ(generator.generate(text, params).tokens, expected);
}

// One draft model for all that runs.
TEST(BatchedDraftTest, AnswersAreThoseWithoutDrafts) {
  for (const char* family : {"qwen3", "lfm2"}) {
    const auto model = tiny_text_model(family);
    EngineOptions options{.context = 128, .kv_bytes = 1 << 22};
    options.first_token_seconds = options.next_token_seconds = 0;  // drafts that depend on no time
    options.drafter = [&](const TextModel& target) { return std::make_unique<ModelDrafter>(model, target, options); };
    TextEngine engine(model, options);
    std::vector<EngineRequest> requests(8);
    std::vector<Heard> heard(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].prompt = some_tokens(5 + 9 * i, static_cast<uint32_t>(i));
      requests[i].params.sampling.temperature = i % 2 ? 1.0f : 0.0f;
      requests[i].params.max_new_tokens = 30;
      requests[i].params.ignore_end = true;
      ASSERT_TRUE(engine.submit(requests[i], listen(heard[i])));
    }
    run_to_end(engine);
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(heard[i].is_over()) << i;
      EXPECT_EQ(heard[i].tokens[0], alone(model, requests[i]).tokens) << family << " " << i;
    }
    const EngineCounters counters = engine.snapshot().counters;
    EXPECT_GT(counters.accepted_tokens, 80) << "its own drafts are right where the likeliest token is taken";
    EXPECT_GE(counters.drafted_tokens, counters.accepted_tokens);
  }
}

}  // namespace
}  // namespace wick
