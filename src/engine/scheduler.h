#pragma once

#include <memory>
#include <vector>

#include "engine/kv/kv_memory.h"
#include "engine/runner.h"
#include "engine/token_budget.h"

namespace wick {

// Decides who runs: which sequences take part in a pass, with how many tokens, and which are preempted when memory is
// short. The client who has been served least goes first, and who has more than an even part of the slots or of the
// memory gives way to one who has less. A client's own sequences go by rank: the time their task came, less
// kAgeingSeconds for each step of priority. Nobody waits for ever: all who come that much later come after, and whoever
// is served falls behind those who are not. Not thread-safe.
class Scheduler {
 public:
  static constexpr double kAgeingSeconds = 15;

  Scheduler(const EngineOptions& options, KvMemory& memory);

  // A sequence that waits for its first pass; `now` in seconds, from any start.
  Sequence& add(std::unique_ptr<Sequence> sequence, double now);
  // One that goes on from where another is.
  Sequence& add_fork(const Sequence& from, std::unique_ptr<Sequence> sequence);
  // Frees all it has and forgets it; `is_sound` as for KvMemory::release().
  void remove(Sequence& sequence, bool is_sound = true);

  // The next pass: one position for each running sequence that generates, then steps of those without positions, as far
  // as they have saved up for them, then prompts by rank.
  StepPlan plan();
  // What may be drafted for a planned sequence; drafts cost tokens that prompts could have had, so they get what is
  // left of the budget.
  struct DraftRoom {
    Sequence* sequence;
    int64_t most;
  };
  std::vector<DraftRoom> draft_room(const StepPlan& plan) const;
  // Room in the cache for drafts by the model itself; without that, for one.
  void reserve_for(DraftRoom& room);
  // Takes up drafts as far as budget and memory allow.
  void add_draft(Sequence& sequence, std::vector<int32_t> tokens);
  // After the pass: `accepted[i]` drafted tokens of planned sequence i were right.
  void commit(const StepPlan& plan, const std::vector<int64_t>& accepted, double seconds);
  // Whether all that runs takes part in this pass and will want one more token behind it, nobody waits, and there is
  // room: then the pass behind it has the same sequences, and memory for it is set aside.
  bool try_plan_ahead(const StepPlan& plan);
  // How long somebody waited, for the targets.
  void first_token_after(double seconds) { budget_.first_token_after(seconds); }
  void next_token_after(double seconds) { budget_.next_token_after(seconds); }

  bool empty() const { return running_.empty() && waiting_.empty(); }
  const std::vector<std::unique_ptr<Sequence>>& running() const { return running_; }  // by rank
  const std::vector<std::unique_ptr<Sequence>>& waiting() const { return waiting_; }  // and preempted, by rank
  int64_t preemptions() const { return preemptions_; }
  int64_t clients() const { return counters_.clients(); }
  int64_t next_budget() const;
  double seconds_for(int64_t tokens) const { return budget_.seconds_for(tokens); }

 private:
  using List = std::vector<std::unique_ptr<Sequence>>;

  int64_t decodes() const;
  void plan_decodes(StepPlan& plan);
  void plan_steps(StepPlan& plan, int64_t& budget);
  void plan_prompts(StepPlan& plan, int64_t& budget);
  // With `before`, only those whose clients have been served less than that one's.
  void admit(StepPlan& plan, int64_t& budget, const Sequence* before = nullptr);
  void plan_step(StepPlan& plan, Sequence& sequence, int64_t& budget);
  bool make_way(StepPlan& plan);
  void plan_chunk(StepPlan& plan, Sequence& sequence, int64_t& budget);

  static bool goes_before(const Sequence& a, const Sequence& b);
  double claimed(const Sequence& sequence) const;
  Sequence* next_waiting(const std::vector<const Sequence*>& passed_over) const;
  bool is_being_computed(const Sequence& sequence) const;
  bool try_start(Sequence& sequence, StepPlan& plan);
  Sequence* gives_memory_to(const Sequence& sequence) const;
  Sequence* gives_way_to(const Sequence& sequence) const;
  Sequence* last_of(const TokenCounters::Counter* client) const;
  int64_t running_of(const TokenCounters::Counter* client) const;
  int64_t blocks_of(const TokenCounters::Counter* client) const;
  void preempt(Sequence& sequence, StepPlan& plan);
  double seconds_per_token() const;

  const EngineOptions& options_;
  KvMemory& memory_;
  TokenBudget budget_;
  TokenCounters counters_;
  List running_, waiting_;
  int64_t budget_left_ = 0;  // tokens, of the plan
  int64_t preemptions_ = 0;
};

}  // namespace wick
