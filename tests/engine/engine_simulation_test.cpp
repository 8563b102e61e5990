#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/engine_requests.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

// Thousands of requests that come, go and are given up at random, in far less memory than they want together.
struct Scene {
  const char* family;
  DType kv_dtype = DType::kF16;
  int requests = 600;
  int64_t swap_bytes = -1;
  bool prefix_cache = true;
  bool drafts = false;
  SchedulePolicy policy = SchedulePolicy::kPriority;
};

void PrintTo(const Scene& scene, std::ostream* out) { *out << scene.family; }

std::string name_of(const testing::TestParamInfo<Scene>& info) {
  std::string name = cat(info.index, info.param.family);
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
}

class EngineSimulation : public testing::TestWithParam<Scene> {
 protected:
  static constexpr int64_t kContext = 160;

  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  // Texts with beginnings in common, of lengths that end inside and at the ends of blocks.
  EngineRequest some_request() {
    EngineRequest request;
    request.prompt = some_tokens(static_cast<size_t>(below(5) * 16), static_cast<uint32_t>(below(3)));
    const std::vector<int32_t> tail = some_tokens(static_cast<size_t>(1 + below(20)), static_cast<uint32_t>(below(6)));
    request.prompt.insert(request.prompt.end(), tail.begin(), tail.end());
    request.params.sampling.temperature = below(2) ? 0.0f : 1.0f;
    request.params.sampling.seed = static_cast<uint64_t>(below(2));
    request.params.max_new_tokens = below(5) == 0 ? -1 : below(24);
    request.params.ignore_end = true;
    request.choices = below(12) == 0 ? 3 : 1;
    request.priority = static_cast<Priority>(below(kPriorities));
    return request;
  }

  const GenerateResult& expected(const EngineRequest& request, int64_t choice) {
    const auto key =
        std::tuple(request.prompt, request.params.sampling.temperature,
                   request.params.sampling.seed + static_cast<uint64_t>(choice), request.params.max_new_tokens);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_[key] = alone(model_, request, choice, GetParam().kv_dtype, kContext);
  }

  EngineOptions options() const {
    EngineOptions options{.context = kContext, .kv_dtype = GetParam().kv_dtype};
    const int64_t block = KvCache::bytes_per_block(model_->model().facts().kv_layers, options.kv_dtype);
    options.kv_bytes = block * (kContext / kKvBlockTokens + 9);  // for two of them at best
    if (block == 0) options.kv_bytes = 1 << 20;                  // for states
    options.swap_bytes = GetParam().swap_bytes;
    options.max_running = 9;
    options.max_waiting = 1 << 20;
    options.max_batch_tokens = 40;
    options.policy = GetParam().policy;
    options.prefix_cache = GetParam().prefix_cache;
    if (GetParam().drafts) options.drafter = [](const TextModel&) { return std::make_unique<LookupDrafter>(1, 3); };
    return options;
  }

  std::shared_ptr<const TextModel> model_ = tiny_text_model(GetParam().family);
  std::minstd_rand random_{42};
  std::map<std::tuple<std::vector<int32_t>, float, uint64_t, int64_t>, GenerateResult> known_;
};

TEST_P(EngineSimulation, EveryFinishedAnswerIsTheOneComputedAlone) {
  TextEngine engine(model_, options());
  struct Asked {
    EngineRequest request;
    RequestId id = 0;
    bool is_cancelled = false;
    Heard heard;
  };
  std::vector<std::unique_ptr<Asked>> asked;
  while (static_cast<int>(asked.size()) < GetParam().requests) {
    for (int arrivals = below(4); arrivals > 0; --arrivals) {
      asked.push_back(std::make_unique<Asked>());
      asked.back()->request = some_request();
      asked.back()->id = *engine.submit(asked.back()->request, listen(asked.back()->heard));
    }
    if (!asked.empty() && below(6) == 0) {
      Asked& one =
          *asked[asked.size() - 1 - static_cast<size_t>(below(static_cast<int>(std::min<size_t>(asked.size(), 20))))];
      if (!one.heard.is_over(one.request.choices)) {
        engine.cancel(one.id);
        one.is_cancelled = true;
      }
    }
    for (int steps = below(9); steps > 0; --steps) engine.step();
  }
  int64_t steps = 0;
  while (engine.step()) ASSERT_LT(++steps, 200000) << "the engine goes round in circles";
  for (size_t i = 0; i < asked.size(); ++i) {
    Asked& one = *asked[i];
    ASSERT_TRUE(one.heard.is_over(one.request.choices)) << "request " << i << " was never answered";
    ASSERT_FALSE(one.heard.error) << *one.heard.error;
    for (int64_t choice = 0; choice < one.request.choices; ++choice) {
      const GenerateResult& result = one.heard.results[choice];
      if (result.reason == StopReason::kCancelled) {
        EXPECT_TRUE(one.is_cancelled) << i;
        continue;
      }
      const GenerateResult& right = expected(one.request, choice);
      ASSERT_EQ(one.heard.tokens[choice], right.tokens) << "request " << i << ", choice " << choice;
      ASSERT_EQ(result.tokens, right.tokens);
      ASSERT_EQ(result.reason, right.reason);
      ASSERT_EQ(one.heard.text[choice], right.text);
    }
  }
  const EngineSnapshot snapshot = engine.snapshot();
  EXPECT_EQ(snapshot.blocks_free + snapshot.blocks_cached, snapshot.blocks_total);
  EXPECT_EQ(snapshot.counters.blocks_taken - snapshot.counters.blocks_freed, snapshot.blocks_cached);
  EXPECT_EQ(snapshot.counters.finished + snapshot.counters.cancelled + snapshot.counters.coalesced,
            static_cast<int64_t>(asked.size()));
  if (!model_->model().facts().kv_layers.empty()) {
    EXPECT_GT(snapshot.counters.preemptions, 0);
  }
  if (GetParam().prefix_cache) {
    EXPECT_GT(snapshot.counters.reused_tokens, 0);
  }
  if (GetParam().swap_bytes == 0) {
    EXPECT_EQ(snapshot.counters.swapped_blocks, 0);
    EXPECT_GT(snapshot.counters.recomputed_tokens, 0);
  }
  if (GetParam().drafts) {
    EXPECT_GT(snapshot.counters.accepted_tokens, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scenes, EngineSimulation,
    testing::Values(Scene{"qwen3", DType::kF16, 1000}, Scene{"qwen3", DType::kI8, 300},
                    Scene{"qwen3", DType::kF32, 300, 0}, Scene{"qwen3", DType::kF16, 300, -1, false, true},
                    Scene{"qwen3", DType::kF16, 300, 0, true, true, SchedulePolicy::kFirstCome}, Scene{"mistral"},
                    Scene{"gemma3", DType::kBF16, 300}, Scene{"mamba2", DType::kF16, 300},
                    Scene{"rwkv", DType::kF16, 200}, Scene{"mamba2", DType::kF16, 200, -1, true, true},
                    Scene{"lfm2", DType::kF16, 200, -1, true, true}, Scene{"lfm2", DType::kF16, 300, 0},
                    Scene{"mamba2-moe", DType::kI8, 200, -1, true, true},
                    Scene{"delta-rule", DType::kF16, 200, -1, true, true}, Scene{"delta-rule", DType::kI8, 200, 0},
                    Scene{"mamba-moe", DType::kF16, 200}, Scene{"side-by-side", DType::kF16, 200, -1, true, true},
                    Scene{"one-part-each", DType::kF16, 200}, Scene{"griffin", DType::kI8, 200, -1, true, true},
                    Scene{"matrix-memory", DType::kF16, 200, -1, true, true}),
    name_of);

}  // namespace
}  // namespace wick
