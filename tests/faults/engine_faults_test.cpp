// An engine at work while one allocation fails, for one after the other: no step throws, whoever asked gets the right
// tokens or an error, everything that was held is free afterwards, and the next request is answered as ever.
#include <gtest/gtest.h>

#include "base/text.h"
#include "faults/fault_hook.h"
#include "support/engine_requests.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

EngineRequest request_of(int64_t prompt, int64_t most, uint64_t seed) {
  EngineRequest request;
  for (int64_t i = 0; i < prompt; ++i)
    request.prompt.push_back(static_cast<int32_t>((i * 7 + static_cast<int>(seed)) % 90));
  request.params.sampling.temperature = 0;
  request.params.sampling.seed = seed;
  request.params.max_new_tokens = most;
  request.params.ignore_end = true;
  return request;
}

// What a client does in between is none of the engine's allocations.
RequestListener quietly(Heard& heard) {
  return [listener = listen(heard)](const RequestEvent& event) {
    const FaultFree client;
    listener(event);
  };
}

void fail_each(const EngineOptions& options, const std::vector<EngineRequest>& requests) {
  const auto model = tiny_text_model("qwen3");
  std::vector<std::vector<int32_t>> right;
  for (const EngineRequest& request : requests) right.push_back(alone(model, request).tokens);
  TextEngine engine(model, options);
  int failed = 0;
  for (int64_t at = 1;; ++at) {
    SCOPED_TRACE(cat("allocation ", at));
    std::vector<Heard> heard(requests.size());
    std::vector<bool> accepted(requests.size());
    const std::vector<EngineRequest> copies = requests;
    arm_fault(FaultKind::kAllocation, at);
    for (size_t i = 0; i < copies.size(); ++i) {
      try {
        accepted[i] = engine.submit(copies[i], quietly(heard[i])).has_value();
      } catch (const std::bad_alloc&) {  // is told to whoever submits
      }
    }
    ASSERT_NO_THROW(run_to_end(engine));
    const bool has_failed = disarm_fault();
    run_to_end(engine);
    int errors = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (!accepted[i]) continue;
      ASSERT_TRUE(heard[i].is_over());
      if (heard[i].error) {
        EXPECT_NE(heard[i].error->find("no memory"), std::string::npos) << *heard[i].error;
        ++errors;
      } else {
        EXPECT_EQ(heard[i].results[0].tokens, right[i]);
      }
    }
    failed += errors > 0;
    const EngineSnapshot snapshot = engine.snapshot();
    ASSERT_EQ(snapshot.running + snapshot.waiting + snapshot.paused, 0);
    ASSERT_EQ(snapshot.blocks_free + snapshot.blocks_cached, snapshot.blocks_total);
    if (!has_failed) break;  // there are no more
    Heard after;
    engine.submit(requests.front(), quietly(after));
    run_to_end(engine);
    ASSERT_EQ(after.results[0].tokens, right[0]);
  }
  EXPECT_GT(failed, 10);
}

TEST(EngineFaults, Allocations) {
  fail_each({.context = 96, .kv_bytes = 1 << 20, .max_batch_tokens = 32},
            {request_of(20, 3, 1), request_of(37, 4, 2), request_of(20, 3, 1)});
}

// Some are preempted, and come back.
TEST(EngineFaults, AllocationsWhereMemoryIsShort) {
  const auto model = tiny_text_model("qwen3");
  const TextEngine measure(model, {.context = 96, .kv_bytes = 1 << 20});
  const int64_t block = measure.kv_bytes() / measure.snapshot().blocks_total;
  fail_each({.context = 96, .kv_bytes = 7 * block, .max_batch_tokens = 32},
            {request_of(33, 20, 1), request_of(37, 20, 2), request_of(40, 20, 3)});
}

}  // namespace
}  // namespace wick
