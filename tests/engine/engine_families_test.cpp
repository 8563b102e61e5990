// Engines on models whose attention does not reach back for ever, or that carry a state.
#include <gtest/gtest.h>

#include "support/engine_requests.h"
#include "support/reference_models.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

EngineRequest request_of(std::vector<int32_t> prompt, int64_t max_new_tokens) {
  EngineRequest request;
  request.prompt = std::move(prompt);
  request.params.sampling.temperature = 0;
  request.params.max_new_tokens = max_new_tokens;
  return request;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class EngineFamilyTest : public testing::TestWithParam<const char*> {};

// Prompts that begin alike, one after the other and at once, in memory for hardly more than one of them.
TEST_P(EngineFamilyTest, AnswersTogetherAreThoseAlone) {
  const std::shared_ptr<const TextModel> model = tiny_text_model(GetParam());
  const ModelFacts& facts = model->model().facts();
  const int64_t each = KvCache::bytes_per_block(facts.kv_layers, DType::kF16);
  const std::vector<int32_t> start = some_tokens(49, 1);
  std::vector<EngineRequest> requests;
  for (uint32_t i = 0; i < 6; ++i) requests.push_back(request_of(joined(start, some_tokens(5 + 17 * i, 2 + i)), 30));
  for (const int64_t blocks : {16, 100}) {
    TextEngine engine(model, {.context = 256, .kv_bytes = each > 0 ? blocks * each : 1 << 20, .max_batch_tokens = 20});
    std::vector<Heard> heard(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(engine.submit(requests[i], listen(heard[i])));
      if (i < 2) run_to_end(engine);
    }
    run_to_end(engine);
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(heard[i].is_over()) << i << ": " << heard[i].error.value_or("");
      EXPECT_EQ(heard[i].tokens[0], alone(model, requests[i]).tokens) << i;
    }
    const EngineSnapshot snapshot = engine.snapshot();
    EXPECT_EQ(snapshot.blocks_free + snapshot.blocks_cached, snapshot.blocks_total);
    // A quarter of the memory is for states; with room for few, those of other prompts take their places.
    if (each == 0 || 16 * model->model().new_state().bytes() <= blocks * each) {
      EXPECT_GE(snapshot.counters.reused_tokens, 3 * kKvBlockTokens);
    }
    EXPECT_EQ(snapshot.counters.window_freed > 0, facts.window > 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineFamilyTest,
                         testing::Values("llama", "mistral", "gemma3", "lfm2", "mamba", "mamba2", "rwkv", "mamba2-moe",
                                         "delta-rule", "mamba-moe", "side-by-side", "one-part-each", "griffin",
                                         "matrix-memory"),
                         [](const auto& test) { return test_name(test.param); });

TEST(EngineWindowTest, HooksOnAttentionSeeAllOfALongText) {
  const std::shared_ptr<const TextModel> model = tiny_text_model("mistral");
  EngineRequest request = request_of(some_tokens(70, 1), 20);
  request.hooks.capture("blocks.1.attn.hook_attn_scores");
  request.capture = std::make_shared<HookCache>();
  TextEngine engine(model, {.context = 256, .kv_bytes = 1 << 20, .max_batch_tokens = 24});
  Heard heard;
  ASSERT_TRUE(engine.submit(request, listen(heard)));
  run_to_end(engine);
  ASSERT_TRUE(heard.is_over());
  EXPECT_EQ(heard.error.value_or(""), "");
  EXPECT_EQ(heard.tokens[0], alone(model, request).tokens);
}

}  // namespace
}  // namespace wick
