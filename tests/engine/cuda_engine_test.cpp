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
  Engine engine(model, {.context = 256, .kv_bytes = 16 << 20});
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

TEST_F(CudaEngine, ListenersMayCancel) {
  Engine engine(model(), {.context = 256, .kv_bytes = 16 << 20});
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
