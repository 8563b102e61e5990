#pragma once

#include <gtest/gtest.h>

#include "engine/scheduler.h"
#include "support/tiny_text_models.h"

namespace wick {

// Wants tokens for ever, or until that is switched off.
class EndlessTask final : public Task {
 public:
  explicit EndlessTask(Priority priority, Client client = {}, std::string salt = {})
      : priority_(priority), client_(std::move(client)), salt_(std::move(salt)) {}

  Client client() const override { return client_; }
  Priority priority() const override { return priority_; }
  std::string_view cache_salt() const override { return salt_; }
  bool shares_prefix() const override { return true; }
  bool goes_on(const Sequence&) const override { return goes_on_; }
  void begin(TaskHost&) override {}
  void settle(TaskHost&) override {}
  bool is_over() const override { return false; }
  void end(StopReason) override {}
  void fail(const Error&) override {}

  bool goes_on_ = true;

 private:
  Priority priority_;
  Client client_;
  std::string salt_;
};

// A scheduler whose passes are only thought of: tokens appear, nothing is computed.
class ThoughtPasses : public testing::Test {
 protected:
  void set_up(EngineOptions options) {
    options_ = options;
    memory_ = std::make_unique<KvMemory>(model_->model(), options_, options_.context);
    scheduler_ = std::make_unique<Scheduler>(options_, *memory_);
  }
  int64_t bytes(int64_t blocks) const {
    return blocks * KvCache::bytes_per_block(model_->model().facts().kv_layers, DType::kF16);
  }

  Sequence& add(size_t prompt, double now, Priority priority = Priority::kNormal, const Client& client = {}) {
    auto sequence = std::make_unique<Sequence>();
    sequence->task = std::make_shared<EndlessTask>(priority, client);
    sequence->tokens = some_tokens(prompt, ++seed_);
    sequence->prompt_tokens = static_cast<int64_t>(prompt);
    return scheduler_->add(std::move(sequence), now);
  }
  // One pass; who reaches the end of the text gets one more token.
  StepPlan step(double seconds = 0.01) {
    const StepPlan plan = scheduler_->plan();
    std::vector<Sequence*> longer;
    for (const Planned& planned : plan) {
      if (planned.reaches_end()) longer.push_back(planned.sequence);
    }
    for (Sequence* sequence : longer) sequence->tokens.push_back(1);
    scheduler_->commit(plan, std::vector<int64_t>(plan.size()), seconds);
    return plan;
  }
  static std::vector<Sequence*> who(const StepPlan& plan) {
    std::vector<Sequence*> sequences;
    for (const Planned& planned : plan) sequences.push_back(planned.sequence);
    return sequences;
  }

  std::shared_ptr<const TextModel> model_ = tiny_text_model("qwen3");
  EngineOptions options_;
  std::unique_ptr<KvMemory> memory_;
  std::unique_ptr<Scheduler> scheduler_;
  uint32_t seed_ = 0;
};

}  // namespace wick
