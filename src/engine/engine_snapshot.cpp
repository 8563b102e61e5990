#include <algorithm>

#include "engine/engine.h"

namespace wick {
namespace {

constexpr double kLeastRetrySeconds = 1, kMostRetrySeconds = 60;

SequenceView view_of(const Sequence& sequence, EngineClock::time_point now) {
  SequenceView view;
  view.request = sequence.task->id;
  view.index = sequence.index;
  view.phase = sequence.phase;
  view.priority = sequence.task->priority();
  view.prompt_tokens = sequence.prompt_tokens;
  view.computed_tokens = sequence.computed;
  view.generated_tokens = std::max<int64_t>(static_cast<int64_t>(sequence.tokens.size()) - sequence.prompt_tokens, 0);
  view.age_seconds = std::chrono::duration<double>(now - sequence.task->arrived).count();
  view.blocks = sequence.blocks;
  return view;
}

}  // namespace

EngineSnapshot Engine::snapshot() const {
  const std::lock_guard lock(state_mutex_);
  EngineSnapshot snapshot;
  snapshot.counters = counters_;
  snapshot.counters.preemptions = scheduler_.preemptions();
  memory_.describe(snapshot);
  const auto now = EngineClock::now();
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      snapshot.sequences.push_back(view_of(*sequence, now));
      ++(sequence->is_running()                         ? snapshot.running
         : sequence->phase == SequencePhase::kPreempted ? snapshot.paused
                                                        : snapshot.waiting);
    }
  }
  snapshot.token_budget = scheduler_.next_budget();
  snapshot.last_prefill_tokens = last_prefill_tokens_;
  snapshot.last_decode_tokens = last_decode_tokens_;
  snapshot.last_seconds = last_seconds_;
  const std::lock_guard inbox(inbox_mutex_);
  snapshot.counters.turned_away = turned_away_;
  snapshot.waiting += static_cast<int64_t>(submissions_.size());
  return snapshot;
}

double Engine::retry_after() const {
  const std::lock_guard lock(state_mutex_);
  const auto waiting = static_cast<double>(scheduler_.waiting().size());
  const auto running = std::max<double>(static_cast<double>(scheduler_.running().size()), 1);
  return std::clamp(service_seconds_ * waiting / running, kLeastRetrySeconds, kMostRetrySeconds);
}

}  // namespace wick
