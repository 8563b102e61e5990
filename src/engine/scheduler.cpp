#include "engine/scheduler.h"

#include <algorithm>

namespace wick {
namespace {

bool is_before(const std::unique_ptr<Sequence>& a, const std::unique_ptr<Sequence>& b) { return a->rank < b->rank; }

// Puts it behind those of the same rank.
void insert_by_rank(std::vector<std::unique_ptr<Sequence>>& list, std::unique_ptr<Sequence> sequence) {
  list.insert(std::upper_bound(list.begin(), list.end(), sequence, is_before), std::move(sequence));
}

std::unique_ptr<Sequence> take_from(std::vector<std::unique_ptr<Sequence>>& list, const Sequence& sequence) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.get() == &sequence; });
  std::unique_ptr<Sequence> taken = std::move(*found);
  list.erase(found);
  return taken;
}

// One more position is to be computed. A sequence that waits for others of its task has none.
bool is_decode(const Sequence& sequence) {
  return sequence.phase == SequencePhase::kDecode && sequence.step_cost == 0 && sequence.has_work();
}

void set_phase(Sequence& sequence) {
  sequence.phase =
      sequence.step_cost == 0 && sequence.uncomputed() > 1 ? SequencePhase::kPrefill : SequencePhase::kDecode;
}

}  // namespace

Scheduler::Scheduler(const EngineOptions& options, KvMemory& memory)
    : options_(options),
      memory_(memory),
      budget_(options.first_token_seconds, options.next_token_seconds, options.max_batch_tokens) {}

Sequence& Scheduler::add(std::unique_ptr<Sequence> sequence, double now) {
  sequence->rank = now;
  if (options_.policy == SchedulePolicy::kPriority) {
    sequence->rank -= kAgeingSeconds * static_cast<double>(sequence->task->priority());
  }
  Sequence& added = *sequence;
  insert_by_rank(waiting_, std::move(sequence));
  return added;
}

Sequence& Scheduler::add_fork(const Sequence& from, std::unique_ptr<Sequence> sequence) {
  sequence->rank = from.rank;
  sequence->reached = from.reached;
  Sequence& added = *sequence;
  if (!from.is_running()) {  // what it had is computed again
    sequence->phase = SequencePhase::kPaused;
    insert_by_rank(waiting_, std::move(sequence));
    return added;
  }
  memory_.fork(from, *sequence);
  set_phase(*sequence);
  insert_by_rank(running_, std::move(sequence));
  return added;
}

void Scheduler::remove(Sequence& sequence, bool is_sound) {
  const std::unique_ptr<Sequence> owned = take_from(sequence.is_running() ? running_ : waiting_, sequence);
  memory_.release(*owned, is_sound);
}

int64_t Scheduler::decodes() const {
  return std::count_if(running_.begin(), running_.end(), [](const auto& sequence) { return is_decode(*sequence); });
}

int64_t Scheduler::next_budget() const { return budget_.tokens(decodes()); }

StepPlan Scheduler::plan() {
  StepPlan plan;
  for (const auto& sequence : running_) set_phase(*sequence);
  int64_t budget = next_budget();
  plan_decodes(plan);
  budget -= static_cast<int64_t>(plan.size());
  plan_steps(plan, budget);
  plan_prompts(plan, budget);
  do {
    admit(plan, budget);
  } while (plan.empty() && make_way(plan));
  budget_left_ = budget;
  return plan;
}

void Scheduler::plan_decodes(StepPlan& plan) {
  std::vector<Sequence*> generating;
  for (const auto& sequence : running_) {
    if (is_decode(*sequence)) generating.push_back(sequence.get());
  }
  for (Sequence* sequence : generating) {
    if (!sequence->is_running()) continue;  // has given way
    while (!memory_.try_reserve(*sequence, sequence->computed + 1)) {
      Sequence* victim = last_running_after(*sequence, false);
      pause(victim ? *victim : *sequence, plan);
      if (!victim) break;
    }
    if (sequence->is_running()) plan.push_back({sequence, 1});
  }
}

// A step without positions cannot be cut: a sequence that wants one saves up what passes have left for it.
void Scheduler::plan_steps(StepPlan& plan, int64_t& budget) {
  for (const auto& sequence : running_) {
    if (sequence->step_cost > 0) plan_step(plan, *sequence, budget);
  }
}

void Scheduler::plan_step(StepPlan& plan, Sequence& sequence, int64_t& budget) {
  sequence.credit += std::max<int64_t>(budget, 0);
  if (!plan.empty() && sequence.credit < sequence.step_cost) return;
  sequence.credit = 0;
  plan.push_back({&sequence, sequence.step_cost});
  budget -= sequence.step_cost;
}

void Scheduler::plan_prompts(StepPlan& plan, int64_t& budget) {
  std::vector<Sequence*> prompts;
  for (const auto& sequence : running_) {
    if (sequence->phase == SequencePhase::kPrefill && sequence->has_work()) prompts.push_back(sequence.get());
  }
  for (Sequence* sequence : prompts) {
    if (budget > 0 && sequence->is_running()) plan_chunk(plan, *sequence, budget);
  }
}

// As much of a prompt as budget and memory allow; others give way only when nothing could be done at all.
void Scheduler::plan_chunk(StepPlan& plan, Sequence& sequence, int64_t& budget) {
  const int64_t most = std::min({sequence.uncomputed(), budget, sequence.task->most_per_pass()});
  while (memory_.reservable(sequence) <= sequence.computed) {
    Sequence* victim = last_running_after(sequence, false);
    if (!victim) return;
    pause(*victim, plan);
  }
  const int64_t end = std::min(sequence.computed + most, memory_.reservable(sequence));
  const int64_t count = memory_.cut(sequence, end) - sequence.computed;
  if (!memory_.try_reserve(sequence, sequence.computed + count)) return;  // a shared block wants one more
  plan.push_back({&sequence, count});
  budget -= count;
}

// Those who wait come in turn: when the first does not fit, nobody behind it gets the memory it waits for. Only who
// begins like somebody that is being computed now lets others pass, because it will be cheaper soon.
void Scheduler::admit(StepPlan& plan, int64_t& budget) {
  for (size_t next = 0; next < waiting_.size() && budget > 0;) {
    Sequence& sequence = *waiting_[next];
    if (!sequence.has_work() || (sequence.phase == SequencePhase::kWaiting && is_being_computed(sequence))) {
      ++next;
      continue;
    }
    if (!try_start(sequence, plan)) return;
    std::unique_ptr<Sequence> owned = take_from(waiting_, sequence);
    set_phase(sequence);
    insert_by_rank(running_, std::move(owned));
    if (sequence.step_cost > 0) {
      plan_step(plan, sequence, budget);
    } else {
      plan_chunk(plan, sequence, budget);
    }
  }
}

// Where all who run wait for others of their tasks, who find no room: the last of them gives its up.
bool Scheduler::make_way(StepPlan& plan) {
  if (waiting_.empty() || running_.empty()) return false;
  pause(*running_.back(), plan);
  return true;
}

// Whether a running sequence is about to compute blocks that this one begins with and that nobody has yet.
bool Scheduler::is_being_computed(const Sequence& sequence) const {
  if (!memory_.keeps(sequence)) return false;
  int64_t soon = 0;
  for (const auto& other : running_) {
    if (other->phase != SequencePhase::kPrefill || !memory_.keeps(*other)) continue;
    const int64_t common = memory_.shareable(sequence, *other);
    if (other->computed < common) soon = std::max(soon, common);
  }
  return soon > 0 && soon > memory_.known(sequence);
}

// Gives a sequence its memory, pausing those of lower priority that come later if need be.
bool Scheduler::try_start(Sequence& sequence, StepPlan& plan) {
  const auto fits = [&] {
    const auto slots = std::max<int64_t>(options_.max_running, 1);
    if (static_cast<int64_t>(running_.size()) >= slots) return false;
    // All of the text and one more block, lest it be paused at once; with nobody else there it always fits.
    return running_.empty() || sequence.step_cost > 0 ||
           memory_.has_room(sequence, static_cast<int64_t>(sequence.tokens.size()) + kKvBlockTokens);
  };
  while (!fits()) {
    Sequence* victim = last_running_after(sequence, true);
    if (!victim) return false;
    pause(*victim, plan);
  }
  if (sequence.phase == SequencePhase::kPaused) return memory_.try_resume(sequence);
  memory_.begin(sequence);
  return true;
}

Sequence* Scheduler::last_running_after(const Sequence& sequence, bool of_lower_priority) const {
  for (auto at = running_.rbegin(); at != running_.rend(); ++at) {
    Sequence& other = **at;
    if (&other == &sequence || other.rank < sequence.rank) return nullptr;
    if (!of_lower_priority && other.step_cost > 0) continue;  // has no memory to give
    if (!of_lower_priority || other.task->priority() < sequence.task->priority()) return &other;
  }
  return nullptr;
}

void Scheduler::pause(Sequence& sequence, StepPlan& plan) {
  ++preemptions_;
  std::erase_if(plan, [&](const Planned& planned) { return planned.sequence == &sequence; });
  sequence.draft.clear();
  memory_.pause(sequence, seconds_per_token());
  std::unique_ptr<Sequence> owned = take_from(running_, sequence);
  sequence.phase = SequencePhase::kPaused;
  insert_by_rank(waiting_, std::move(owned));
}

double Scheduler::seconds_per_token() const {
  const int64_t tokens = options_.max_batch_tokens;
  return budget_.seconds_for(tokens) / static_cast<double>(tokens);
}

std::vector<Scheduler::DraftRoom> Scheduler::draft_room(const StepPlan& plan) const {
  std::vector<DraftRoom> room;
  for (const Planned& planned : plan) {
    Sequence& sequence = *planned.sequence;
    if (!sequence.drafter || !is_decode(sequence)) continue;
    const int64_t fits = memory_.context() - static_cast<int64_t>(sequence.tokens.size());
    const int64_t most = std::min({sequence.task->most_drafted(sequence), fits, budget_left_});
    if (most > 0) room.push_back({&sequence, most});
  }
  return room;
}

void Scheduler::add_draft(Sequence& sequence, std::vector<int32_t> tokens) {
  const auto count = std::min(static_cast<int64_t>(tokens.size()), budget_left_);
  tokens.resize(static_cast<size_t>(count));
  if (count == 0 || !memory_.try_reserve(sequence, sequence.computed + 1 + count)) return;
  sequence.draft = std::move(tokens);
  budget_left_ -= count;
}

bool Scheduler::try_plan_ahead(const StepPlan& plan) {
  if (!waiting_.empty() || plan.size() != running_.size()) return false;
  const auto goes_on = [&](const Planned& planned) {
    const Sequence& sequence = *planned.sequence;
    return sequence.step_cost == 0 && planned.reaches_end() && sequence.draft.empty() && !sequence.drafter &&
           sequence.task->goes_on(sequence) && static_cast<int64_t>(sequence.tokens.size()) < memory_.context();
  };
  if (!std::all_of(plan.begin(), plan.end(), goes_on)) return false;
  return std::all_of(plan.begin(), plan.end(), [&](const Planned& planned) {
    return memory_.try_reserve(*planned.sequence, static_cast<int64_t>(planned.sequence->tokens.size()) + 1);
  });
}

void Scheduler::commit(const StepPlan& plan, const std::vector<int64_t>& accepted, double seconds) {
  int64_t tokens = 0;
  for (size_t i = 0; i < plan.size(); ++i) {
    Sequence& sequence = *plan[i].sequence;
    const auto drafted = static_cast<int64_t>(sequence.draft.size());
    tokens += plan[i].tokens + drafted;
    if (sequence.step_cost > 0) continue;
    if (!sequence.before.empty() && accepted[i] < drafted) {
      sequence.state = std::move(sequence.before);  // a later pass runs over what was right of it again
    } else {
      sequence.computed += plan[i].tokens + accepted[i];
    }
    sequence.reached = std::max(sequence.reached, sequence.computed);
    sequence.before = {};
    sequence.draft.clear();
    memory_.settle(sequence);
    set_phase(sequence);
  }
  budget_.passed(tokens, seconds);
}

}  // namespace wick
