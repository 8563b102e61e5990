#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include "support/thought_passes.h"

namespace wick {
namespace {

using SchedulerTest = ThoughtPasses;
using Sequences = std::vector<Sequence*>;

TEST_F(SchedulerTest, HigherPriorityComesFirstUntilTheLowHaveWaitedLong) {
  set_up({.context = 64, .kv_bytes = bytes(100), .max_running = 1});
  Sequence& low = add(4, 0, Priority::kLow);
  Sequence& normal = add(4, 1);
  Sequence& critical = add(4, 2, Priority::kCritical);
  Sequence& late_critical = add(4, 3 * Scheduler::kAgeingSeconds + 1, Priority::kCritical);
  Sequences order;
  while (!scheduler_->empty()) {
    Sequence* next = step()[0].sequence;
    order.push_back(next);
    scheduler_->remove(*next);
  }
  // Three steps above, but so much later that the low one has grown old.
  EXPECT_EQ(order, (Sequences{&critical, &normal, &low, &late_critical}));
}

TEST_F(SchedulerTest, FirstComeLooksAtNoPriority) {
  set_up({.context = 64, .kv_bytes = bytes(100), .max_running = 1, .policy = SchedulePolicy::kFirstCome});
  Sequence& low = add(4, 0, Priority::kLow);
  add(4, 1, Priority::kCritical);
  EXPECT_EQ(step()[0].sequence, &low);
}

TEST_F(SchedulerTest, AnswersGoOnWhilePromptsAreReadInPieces) {
  set_up({.context = 256, .kv_bytes = bytes(100), .max_batch_tokens = 20});
  Sequence& first = add(4, 0);
  EXPECT_EQ(step()[0].tokens, 4);
  Sequence& second = add(100, 1);
  int64_t read = 0;
  for (int pass = 0; read < 100; ++pass) {
    ASSERT_LT(pass, 20);
    const StepPlan plan = step();
    ASSERT_EQ(who(plan), (Sequences{&first, &second}));
    EXPECT_EQ(plan[0].tokens, 1);
    EXPECT_LE(plan[0].tokens + plan[1].tokens, 20);
    read += plan[1].tokens;
  }
  EXPECT_EQ(read, 100);
}

TEST_F(SchedulerTest, MemoryGoesToTheHigherPriorityAndComesBack) {
  set_up({.context = 64, .kv_bytes = bytes(5), .swap_bytes = 0, .max_batch_tokens = 64});
  Sequence& low = add(60, 0, Priority::kLow);
  step();
  Sequence& high = add(30, 1, Priority::kHigh);
  EXPECT_EQ(who(step()), Sequences{&high});
  EXPECT_EQ(low.phase, SequencePhase::kPreempted);
  EXPECT_EQ(scheduler_->preemptions(), 1);
  EXPECT_EQ(who(step()), Sequences{&high});  // nobody is preempted for the one that was
  scheduler_->remove(high);
  EXPECT_EQ(who(step()), Sequences{&low});
  scheduler_->remove(low);
  EXPECT_EQ(memory_->free() + memory_->idle(), memory_->total());
}

TEST_F(SchedulerTest, EqualsWaitForMemoryInTurn) {
  set_up({.context = 64, .kv_bytes = bytes(5), .max_batch_tokens = 64});
  Sequence& first = add(60, 0);
  step();
  Sequence& large = add(40, 1);
  Sequence& small = add(2, 2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(who(step()), Sequences{&first});  // the small one would fit, but is not next
  scheduler_->remove(first);
  EXPECT_EQ(who(step()), (Sequences{&large, &small}));
}

TEST_F(SchedulerTest, TheLastToComeGivesWayWhenAnswersOutgrowTheMemory) {
  set_up({.context = 64, .kv_bytes = bytes(6), .swap_bytes = bytes(6), .max_batch_tokens = 64, .prefix_cache = false});
  Sequence& first = add(30, 0);
  Sequence& second = add(30, 1);
  for (int i = 0; i < 15; ++i) step();
  EXPECT_TRUE(first.is_running());
  EXPECT_TRUE(second.is_running());
  while (second.is_running()) step();
  EXPECT_TRUE(first.is_running());
  EXPECT_TRUE(second.saved.has_value());  // there was room to keep what it had
  const int64_t computed = second.computed;
  scheduler_->remove(first);
  const StepPlan plan = step();
  EXPECT_EQ(who(plan), Sequences{&second});
  EXPECT_EQ(second.computed, computed + 1);
  scheduler_->remove(second);
  EXPECT_EQ(memory_->free(), memory_->total());
}

TEST(TokenBudgetTest, LearnsWhatPassesCost) {
  TokenBudget budget(0.25, 0.04, 512);
  for (int i = 0; i < 50; ++i) {
    for (const int tokens : {1, 8, 40, 100}) budget.passed(tokens, 0.010 + tokens * 0.001);
  }
  EXPECT_NEAR(budget.seconds_for(0), 0.010, 1e-6);
  EXPECT_NEAR(budget.seconds_for(200), 0.210, 1e-6);
  EXPECT_NEAR(static_cast<double>(budget.tokens(4)), 30, 1);   // 40 ms
  EXPECT_NEAR(static_cast<double>(budget.tokens(0)), 240, 1);  // nobody reads along: 250 ms
  EXPECT_EQ(budget.tokens(100), 100 + TokenBudget::kLeastPrompt);
}

TEST(TokenBudgetTest, TheTargetMissedByMoreGetsItsWay) {
  TokenBudget budget(0.25, 0.04, 512);
  for (int i = 0; i < 200; ++i) {
    budget.first_token_after(2.5);
    budget.next_token_after(0.05);
  }
  EXPECT_NEAR(budget.pass_seconds(), 0.125, 1e-6);
  for (int i = 0; i < 200; ++i) {
    budget.first_token_after(0.1);
    budget.next_token_after(0.08);
  }
  EXPECT_NEAR(budget.pass_seconds(), 0.02, 1e-6);
}

TEST(TokenBudgetTest, PassesOfOneLengthAreTakenToGrowWithTheirTokens) {
  TokenBudget budget(0.25, 0.04, 512);
  for (int i = 0; i < 20; ++i) budget.passed(10, 0.020);
  EXPECT_NEAR(budget.seconds_for(20), 0.040, 1e-9);
  EXPECT_EQ(TokenBudget(0.25, 0.04, 512).seconds_for(20), 0);
}

// A pass behind the present one is planned, and its memory taken, only where it is sure who takes part.
TEST_F(SchedulerTest, PlansAheadWhereNobodyComesOrGoes) {
  set_up({.context = 64, .kv_bytes = bytes(8), .max_running = 2, .max_batch_tokens = 64});
  Sequence& first = add(16, 0);
  StepPlan plan = scheduler_->plan();
  EXPECT_EQ(first.blocks.size(), 1u);
  ASSERT_TRUE(scheduler_->try_plan_ahead(plan));
  EXPECT_EQ(first.blocks.size(), 2u);  // its next token's
  first.ahead = 1;
  first.tokens.push_back(1);
  scheduler_->commit(plan, {0}, 0.01);
  EXPECT_EQ(first.blocks.size(), 2u);
  first.ahead = 0;
  plan = step();
  EXPECT_EQ(plan[0].tokens, 1);
  EXPECT_EQ(first.computed, 17);

  Sequence& second = add(40, 1);
  EXPECT_FALSE(scheduler_->try_plan_ahead(plan));  // somebody waits
  plan = scheduler_->plan();
  ASSERT_EQ(who(plan), (Sequences{&first, &second}));
  EXPECT_TRUE(scheduler_->try_plan_ahead(plan));
  EXPECT_FALSE(scheduler_->try_plan_ahead({plan[0]}));  // another one runs
  EXPECT_FALSE(scheduler_->try_plan_ahead({plan[0], {&second, 39}}));
  static_cast<EndlessTask&>(*second.task).goes_on_ = false;
  EXPECT_FALSE(scheduler_->try_plan_ahead(plan));  // it ends with this pass
}

TEST_F(SchedulerTest, PlansAheadWithinContextAndMemory) {
  set_up({.context = 64, .kv_bytes = bytes(4), .max_batch_tokens = 64});
  add(64, 0);
  EXPECT_FALSE(scheduler_->try_plan_ahead(scheduler_->plan()));
  set_up({.context = 48, .kv_bytes = bytes(3), .max_batch_tokens = 64});
  add(16, 0);
  add(15, 1);
  const StepPlan plan = scheduler_->plan();
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_TRUE(scheduler_->try_plan_ahead(plan));  // takes the third block
  plan[1].sequence->tokens.push_back(1);
  EXPECT_FALSE(scheduler_->try_plan_ahead({plan[0], {plan[1].sequence, 16}}));
}

}  // namespace
}  // namespace wick
