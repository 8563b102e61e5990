// Engines whose model is on a GPU: tokens are drawn there, and listeners hear of them while the next pass is computed.
#if WICK_CUDA
#include <gtest/gtest.h>

#include "support/engine_requests.h"
#include "support/needs_cuda.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

class CudaEngine : public NeedsCuda<> {
 protected:
  static std::shared_ptr<const TextModel> model() {
    LoadOptions options;
    options.device = Device::cuda();
    return tiny_text_model("qwen3", options);
  }
  static std::vector<EngineRequest> requests() {
    std::vector<EngineRequest> requests;
    const SamplingParams several[] = {{.temperature = 0},
                                      {.temperature = 1, .seed = 2},
                                      {.temperature = 0.7f, .top_k = 5, .seed = 3},
                                      {.temperature = 1.2f, .top_p = 0.9f, .seed = 4},
                                      {.temperature = 1, .top_k = 50, .top_p = 0.95f, .min_p = 0.01f, .seed = 5},
                                      {.temperature = 0.9f, .repetition_penalty = 1.3f, .seed = 6},
                                      {.temperature = 1, .xtc_probability = 0.5f, .seed = 7}};
    for (const SamplingParams& sampling : several) {
      EngineRequest request;
      for (int32_t i = 0; i < 20; ++i) request.prompt.push_back((i * 37 + static_cast<int32_t>(sampling.seed)) % 192);
      request.params.sampling = sampling;
      request.params.max_new_tokens = 40;
      requests.push_back(request);
    }
    for (const size_t like : {size_t{0}, size_t{1}}) {
      requests.push_back(requests[like]);
      requests.back().params.grammar = Grammar::from_gbnf("root ::= (\"a\" [1-9] [0-9]? \" \"?)+");
      requests.back().params.max_new_tokens = 20;
    }
    return requests;
  }
};

TEST_F(CudaEngine, AnswersTogetherAreThoseAlone) {
  const auto model = this->model();
  std::vector<EngineRequest> requests = this->requests();
  requests[3].choices = 3;
  requests[1].params.max_new_tokens = 7;
  TextEngine engine(model, {.context = 256, .kv_bytes = 16 << 20});
  std::vector<Heard> heard(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) ASSERT_TRUE(engine.submit(requests[i], listen(heard[i])));
  run_to_end(engine);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(heard[i].is_over(requests[i].choices)) << i;
    for (int64_t choice = 0; choice < requests[i].choices; ++choice) {
      const GenerateResult expected = alone(model, requests[i], choice, DType::kF16, 256);
      EXPECT_EQ(heard[i].tokens[choice], expected.tokens) << "request " << i << ", choice " << choice;
      EXPECT_EQ(heard[i].text[choice], expected.text);
      EXPECT_EQ(heard[i].results[choice].tokens, expected.tokens);
    }
  }
}

// Asking for log-probabilities brings the logits to the host, which draws the same tokens from them.
TEST_F(CudaEngine, DrawsWhatTheHostDraws) {
  const auto model = this->model();
  for (EngineRequest request : requests()) {
    const GenerateResult drawn = alone(model, request, 0, DType::kF16, 256);
    request.params.sampling.logprobs = 0;
    EXPECT_EQ(alone(model, request, 0, DType::kF16, 256).tokens, drawn.tokens) << request.params.sampling.seed;
    EXPECT_GE(static_cast<int64_t>(drawn.tokens.size()), request.params.max_new_tokens / 2);  // some end by themselves
  }
}

// Passes are started before the tokens of the one before have come. Who comes, goes or ends in between, and how long
// texts are, changes no answer; the host, which needs the logits for that, chooses the same tokens.
TEST_F(CudaEngine, RunsAhead) {
  const auto model = this->model();
  std::vector<EngineRequest> requests = this->requests();
  requests.resize(5);
  const int64_t lengths[] = {120, 7, 33, 64, 2};
  std::vector<std::vector<int32_t>> expected;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].params.max_new_tokens = lengths[i];
    requests[i].params.ignore_end = i % 2 == 0;
    requests[i].params.sampling.logprobs = 0;
    expected.push_back(alone(model, requests[i], 0, DType::kF16, 256).tokens);
    requests[i].params.sampling.logprobs.reset();
    EXPECT_EQ(alone(model, requests[i], 0, DType::kF16, 256).tokens, expected[i]) << i;
  }
  TextEngine engine(model, {.context = 256, .kv_bytes = 16 << 20});
  std::vector<Heard> heard(requests.size());
  for (const size_t i : {size_t{0}, size_t{3}, size_t{1}}) ASSERT_TRUE(engine.submit(requests[i], listen(heard[i])));
  for (int i = 0; i < 5; ++i) engine.step();
  ASSERT_TRUE(engine.submit(requests[2], listen(heard[2])));
  for (int i = 0; i < 12; ++i) engine.step();
  Heard leaves;
  const auto id = engine.submit(requests[3], listen(leaves));
  ASSERT_TRUE(id && engine.submit(requests[4], listen(heard[4])));
  for (int i = 0; i < 4; ++i) engine.step();
  engine.cancel(*id);
  run_to_end(engine);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(heard[i].is_over()) << i;
    EXPECT_EQ(heard[i].tokens[0], expected[i]) << i;
    EXPECT_EQ(heard[i].results[0].tokens, expected[i]) << i;
  }
  EXPECT_EQ(leaves.results[0].reason, StopReason::kCancelled);
  EXPECT_TRUE(std::equal(leaves.tokens[0].begin(), leaves.tokens[0].end(), expected[3].begin()));
  const EngineSnapshot after = engine.snapshot();
  EXPECT_GT(after.counters.steps_ahead, after.counters.steps / 2);
  EXPECT_EQ(after.blocks_free + after.blocks_cached, after.blocks_total);
}

// The context ends an answer that was a pass ahead of it.
TEST_F(CudaEngine, RunsAheadToTheContextsEnd) {
  EngineRequest request = requests()[0];
  request.params.max_new_tokens = -1;
  request.params.ignore_end = true;
  TextEngine engine(model(), {.context = 48, .kv_bytes = 16 << 20});
  Heard heard;
  ASSERT_TRUE(engine.submit(request, listen(heard)));
  run_to_end(engine);
  ASSERT_TRUE(heard.is_over()) << heard.error.value_or("");
  EXPECT_EQ(heard.results[0].reason, StopReason::kContextFull);
  EXPECT_EQ(heard.tokens[0].size(), 48 - request.prompt.size() + 1);  // the last one is not computed again
  EXPECT_GT(engine.snapshot().counters.steps_ahead, 20);
  EXPECT_EQ(heard.tokens[0], alone(model(), request, 0, DType::kF16, 48).tokens);
}

TEST_F(CudaEngine, ListenersMayCancel) {
  TextEngine engine(model(), {.context = 256, .kv_bytes = 16 << 20});
  const std::vector<EngineRequest> requests = this->requests();
  Heard stays, leaves;
  ASSERT_TRUE(engine.submit(requests[1], listen(stays)));
  std::optional<RequestId> id;
  const RequestListener hear = listen(leaves);
  id = engine.submit(requests[2], [&](const RequestEvent& event) {
    hear(event);
    if (event.kind == RequestEvent::Kind::kToken && leaves.tokens[0].size() == 3) engine.cancel(*id);
  });
  ASSERT_TRUE(id);
  run_to_end(engine);
  EXPECT_EQ(stays.tokens[0].size(), 40u);
  ASSERT_TRUE(leaves.is_over());
  EXPECT_EQ(leaves.results[0].reason, StopReason::kCancelled);
  EXPECT_GE(leaves.tokens[0].size(), 3u);
  EXPECT_LT(leaves.tokens[0].size(), 8u);
  EXPECT_EQ(leaves.results[0].tokens, leaves.tokens[0]);
}

}  // namespace
}  // namespace wick
#endif
