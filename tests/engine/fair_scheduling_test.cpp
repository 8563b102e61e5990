// Clients share an engine evenly, whatever one of them asks for.
#include <gtest/gtest.h>

#include <map>

#include "engine/token_counters.h"
#include "support/thought_passes.h"

namespace wick {
namespace {

const Client kGreedy{"greedy"}, kModest{"modest"};

class FairSchedulingTest : public ThoughtPasses {
 protected:
  std::map<std::string, int64_t> running() const {
    std::map<std::string, int64_t> count;
    for (const auto& sequence : scheduler_->running()) ++count[sequence->client->client];
    return count;
  }
  std::map<std::string, int64_t> tokens_in(int passes) {
    std::map<std::string, int64_t> tokens;
    for (int pass = 0; pass < passes; ++pass) {
      for (const Planned& planned : step()) tokens[planned.sequence->client->client] += planned.tokens;
    }
    return tokens;
  }
};

TEST_F(FairSchedulingTest, OneWhoComesLateGetsASlotAtOnceThoughAnotherTookAllAndMore) {
  set_up({.context = 64, .kv_bytes = bytes(1000), .max_running = 8});
  for (int i = 0; i < 40; ++i) add(4, 0, Priority::kCritical, kGreedy);
  step();
  EXPECT_EQ(running(), (std::map<std::string, int64_t>{{"greedy", 8}}));
  Sequence& late = add(4, 100, Priority::kLow, kModest);
  const StepPlan plan = step();
  EXPECT_NE(std::find_if(plan.begin(), plan.end(), [&](const Planned& p) { return p.sequence == &late; }), plan.end());
  EXPECT_EQ(running(), (std::map<std::string, int64_t>{{"greedy", 7}, {"modest", 1}}));
}

TEST_F(FairSchedulingTest, SlotsAreSharedEvenlyAndNobodyIsPushedBackAndForth) {
  set_up({.context = 512, .kv_bytes = bytes(1000), .max_running = 8});
  for (int i = 0; i < 40; ++i) add(4, 0, Priority::kNormal, kGreedy);
  step();
  for (int i = 0; i < 20; ++i) add(4, 1, Priority::kNormal, kModest);
  tokens_in(8);
  EXPECT_EQ(running(), (std::map<std::string, int64_t>{{"greedy", 4}, {"modest", 4}}));
  const int64_t before = scheduler_->preemptions();
  const std::map<std::string, int64_t> tokens = tokens_in(100);
  EXPECT_EQ(tokens.at("greedy"), tokens.at("modest"));
  EXPECT_EQ(scheduler_->preemptions(), before);
}

TEST_F(FairSchedulingTest, WithOneSlotAnswersAreNotInterrupted) {
  set_up({.context = 512, .kv_bytes = bytes(1000), .max_running = 1});
  Sequence& first = add(4, 0, Priority::kNormal, kGreedy);
  step();
  add(4, 1, Priority::kNormal, kGreedy);
  Sequence& other = add(4, 2, Priority::kNormal, kModest);
  for (int pass = 0; pass < 10; ++pass) EXPECT_EQ(step()[0].sequence, &first);
  scheduler_->remove(first);
  EXPECT_EQ(step()[0].sequence, &other) << "the second of the client who had its turn waits";
}

TEST_F(FairSchedulingTest, PromptsOfTheLeastServedAreReadFirst) {
  set_up({.context = 4096, .kv_bytes = bytes(2000), .max_running = 64, .max_batch_tokens = 32});
  for (int i = 0; i < 30; ++i) add(300, 0, Priority::kCritical, kGreedy);
  for (int pass = 0; pass < 5; ++pass) step();
  Sequence& short_one = add(20, 9, Priority::kNormal, kModest);
  int passes = 0;
  while (short_one.computed < 20 && passes < 50) {
    step();
    ++passes;
  }
  EXPECT_LE(passes, 2);
}

TEST_F(FairSchedulingTest, MemoryIsTakenFromWhoHasMost) {
  set_up({.context = 512, .kv_bytes = bytes(40), .max_running = 64, .prefix_cache = false});
  for (int i = 0; i < 9; ++i) add(60, 0, Priority::kCritical, kGreedy);  // four blocks each, all of them
  step();
  Sequence& late = add(60, 100, Priority::kLow, kModest);
  for (int pass = 0; pass < 60; ++pass) {
    step();
    ASSERT_TRUE(late.is_running()) << pass;
  }
  EXPECT_GT(late.computed, 100);
}

TEST_F(FairSchedulingTest, PriorityOrdersOnlyWhatOneClientWants) {
  set_up({.context = 64, .kv_bytes = bytes(100), .max_running = 2});
  Sequence& modest = add(4, 0, Priority::kLow, kModest);
  Sequence& low = add(4, 0, Priority::kLow, kGreedy);
  step();
  Sequence& critical = add(4, 1, Priority::kCritical, kGreedy);
  step();
  EXPECT_TRUE(modest.is_running());
  EXPECT_TRUE(critical.is_running());
  EXPECT_EQ(low.phase, SequencePhase::kPreempted);
}

TEST_F(FairSchedulingTest, AWeightIsAPart) {
  set_up({.context = 100'000, .kv_bytes = bytes(20000), .max_running = 1});
  // Many short answers of each, one at a time.
  std::map<std::string, int64_t> answers;
  for (int i = 0; i < 200; ++i) {
    add(4, 0, Priority::kNormal, {"greedy", 1});
    add(4, 0, Priority::kNormal, {"paying", 3});
  }
  for (int i = 0; i < 100; ++i) {
    Sequence* next = step()[0].sequence;
    for (int pass = 0; pass < 9; ++pass) step();
    ++answers[next->client->client];
    scheduler_->remove(*next);
  }
  EXPECT_NEAR(answers["paying"], 75, 2);
}

TEST(TokenCountersTest, WhoComesBackHasSavedUpNothingAndOwesWhatTheyHad) {
  TokenCounters counters;
  TokenCounters::Counter& here = counters.enter({"here"});
  TokenCounters::serve(here, 1000);
  TokenCounters::Counter& late = counters.enter({"late"});
  EXPECT_EQ(late.tokens, 1000);
  TokenCounters::serve(late, 500);
  counters.leave(late);
  EXPECT_EQ(counters.clients(), 1);
  EXPECT_EQ(counters.enter({"late"}).tokens, 1500);
  counters.leave(late);
  TokenCounters::serve(here, 2000);
  counters.leave(counters.enter({"other"}));  // whoever is behind by now is forgotten
  EXPECT_EQ(counters.enter({"late"}).tokens, 3000);
}

}  // namespace
}  // namespace wick
