#include "engine/scheduler.h"

#include <algorithm>

#include "nn/kv_blocks_for.h"

namespace wick {
namespace {

bool is_before(const std::unique_ptr<Sequence>& a, const std::unique_ptr<Sequence>& b) { return a->rank < b->rank; }

// Puts it behind those of the same rank.
void insert_by_rank(std::vector<std::unique_ptr<Sequence>>& list, std::unique_ptr<Sequence> sequence) {
  list.insert(std::upper_bound(list.begin(), list.end(), sequence, is_before), std::move(sequence));
}

// Nothing throws where sequences go from one list to the other: each has room for all.
void make_room(std::vector<std::unique_ptr<Sequence>>& list, size_t count) {
  if (list.capacity() < count) list.reserve(2 * count);
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
  for (List* list : {&running_, &waiting_}) make_room(*list, running_.size() + waiting_.size() + 1);
  sequence->client = &counters_.enter(sequence->task->client());
  Sequence& added = *sequence;
  insert_by_rank(waiting_, std::move(sequence));
  return added;
}

Sequence& Scheduler::add_fork(const Sequence& from, std::unique_ptr<Sequence> sequence) {
  sequence->rank = from.rank;
  sequence->reached = from.reached;
  for (List* list : {&running_, &waiting_}) make_room(*list, running_.size() + waiting_.size() + 1);
  sequence->client = &counters_.enter(sequence->task->client());
  Sequence& added = *sequence;
  if (!from.is_running()) {  // what it had is computed again
    sequence->phase = SequencePhase::kPreempted;
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
  counters_.leave(*owned->client);
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
    if (!sequence->is_running()) continue;  // was preempted
    while (!memory_.try_reserve(*sequence, sequence->computed + 1)) {
      Sequence* victim = gives_memory_to(*sequence);
      preempt(victim ? *victim : *sequence, plan);
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
  std::stable_sort(prompts.begin(), prompts.end(),
                   [](const Sequence* a, const Sequence* b) { return goes_before(*a, *b); });
  for (Sequence* sequence : prompts) {
    if (counters_.clients() > 1) admit(plan, budget, sequence);
    if (budget > 0 && sequence->is_running()) plan_chunk(plan, *sequence, budget);
  }
}

// As much of a prompt as budget and memory allow; others are preempted only when nothing could be done at all.
void Scheduler::plan_chunk(StepPlan& plan, Sequence& sequence, int64_t& budget) {
  const int64_t most = std::min({sequence.uncomputed(), budget, sequence.task->most_per_pass()});
  const int64_t least = sequence.task->cut(sequence, sequence.computed + 1);
  while (memory_.reservable(sequence) < least) {
    Sequence* victim = gives_memory_to(sequence);
    if (!victim) return;
    preempt(*victim, plan);
  }
  const int64_t possible = std::max(least, std::min(sequence.computed + most, memory_.reservable(sequence)));
  const int64_t end = sequence.task->cut(sequence, possible);
  const int64_t count = memory_.cut(sequence, end) - sequence.computed;
  if (!memory_.try_reserve(sequence, sequence.computed + count)) return;  // a shared block wants one more
  plan.push_back({&sequence, count});
  budget -= count;
}

// Those who wait come in turn: when the first does not fit, nobody behind it gets the memory it waits for. Only who
// begins like somebody that is being computed now lets others pass, because it will be cheaper soon.
void Scheduler::admit(StepPlan& plan, int64_t& budget, const Sequence* before) {
  std::vector<const Sequence*> passed_over;
  while (budget > 0) {
    Sequence* const next = next_waiting(passed_over);
    if (!next || (before && next->client->tokens >= before->client->tokens)) return;
    Sequence& sequence = *next;
    if (!sequence.has_work() || (sequence.phase == SequencePhase::kWaiting && is_being_computed(sequence))) {
      passed_over.push_back(next);
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
  preempt(*running_.back(), plan);
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

// The client who has been served least, or just came and wants less; then its own order.
bool Scheduler::goes_before(const Sequence& a, const Sequence& b) {
  const TokenCounters::Counter &mine = *a.client, &theirs = *b.client;
  if (mine.tokens != theirs.tokens) return mine.tokens < theirs.tokens;
  return mine.sequences != theirs.sequences ? mine.sequences < theirs.sequences : a.rank < b.rank;
}

// What runs of it and is not computed yet counts as well, lest one client gets all that is free before any of it is.
double Scheduler::claimed(const Sequence& sequence) const {
  double tokens = 0;
  for (const auto& other : running_) {
    if (other->client == sequence.client) tokens += static_cast<double>(other->uncomputed());
  }
  return sequence.client->tokens + tokens / sequence.client->weight;
}

Sequence* Scheduler::next_waiting(const std::vector<const Sequence*>& passed_over) const {
  // Of each client its first, by rank.
  std::vector<Sequence*> first;
  for (const auto& each : waiting_) {
    const auto is_same = [&](const Sequence* other) { return other->client == each->client; };
    if (std::find_if(first.begin(), first.end(), is_same) != first.end()) continue;
    if (std::find(passed_over.begin(), passed_over.end(), each.get()) != passed_over.end()) continue;
    first.push_back(each.get());
    if (counters_.clients() == 1) break;
  }
  const auto found = std::min_element(first.begin(), first.end(), [this](const Sequence* a, const Sequence* b) {
    const double mine = claimed(*a), theirs = claimed(*b);
    return mine != theirs ? mine < theirs : goes_before(*a, *b);
  });
  return found == first.end() ? nullptr : *found;
}

// Gives a sequence its memory, preempting others if need be.
bool Scheduler::try_start(Sequence& sequence, StepPlan& plan) {
  const auto fits = [&] {
    const auto slots = std::max<int64_t>(options_.max_running, 1);
    if (static_cast<int64_t>(running_.size()) >= slots) return false;
    // All of the text and one more block, lest it be preempted at once; with nobody else there it always fits.
    return running_.empty() || sequence.step_cost > 0 ||
           memory_.has_room(sequence, static_cast<int64_t>(sequence.tokens.size()) + kKvBlockTokens);
  };
  while (!fits()) {
    Sequence* victim = gives_way_to(sequence);
    if (!victim) return false;
    preempt(*victim, plan);
  }
  if (sequence.phase == SequencePhase::kPreempted) return memory_.try_resume(sequence);
  memory_.begin(sequence);
  return true;
}

// Who makes room for one that runs: the last of the client that has most, which may be its own.
Sequence* Scheduler::gives_memory_to(const Sequence& sequence) const {
  const TokenCounters::Counter* most = sequence.client;
  if (counters_.clients() > 1) {
    int64_t blocks = blocks_of(most);
    for (const auto& other : running_) {
      if (other->client == most || blocks_of(other->client) <= blocks) continue;
      most = other->client;
      blocks = blocks_of(most);
    }
  }
  const auto found = std::find_if(running_.rbegin(), running_.rend(), [&](const auto& other) {
    const bool is_own_turn = other.get() == &sequence && most == sequence.client;
    return is_own_turn || (other->client == most && other->step_cost == 0);  // else there is no memory to give
  });
  return found == running_.rend() || found->get() == &sequence ? nullptr : found->get();
}

// Who makes room for one that waits: a later one of its client's of lower priority, or the last of a client who has
// more than an even part, where this one has less.
Sequence* Scheduler::gives_way_to(const Sequence& sequence) const {
  const auto later = std::find_if(running_.rbegin(), running_.rend(), [&](const auto& other) {
    return other->client == sequence.client && other->task->priority() < sequence.task->priority();
  });
  if (later != running_.rend() && (*later)->rank >= sequence.rank) return later->get();
  if (counters_.clients() < 2) return nullptr;
  const bool is_full = static_cast<int64_t>(running_.size()) >= std::max<int64_t>(options_.max_running, 1);
  const auto held = [&](const auto* client) { return is_full ? running_of(client) : blocks_of(client); };
  const int64_t part = std::max<int64_t>((is_full ? options_.max_running : memory_.total()) / counters_.clients(), 1);
  const int64_t wanted = is_full ? 1 : kv_blocks_for(static_cast<int64_t>(sequence.tokens.size()) + kKvBlockTokens);
  if (held(sequence.client) + wanted > part) return nullptr;
  const TokenCounters::Counter* most = nullptr;
  for (const auto& other : running_) {
    if (held(other->client) > (most ? held(most) : part)) most = other->client;
  }
  return most ? last_of(most) : nullptr;
}

Sequence* Scheduler::last_of(const TokenCounters::Counter* client) const {
  const auto found = std::find_if(running_.rbegin(), running_.rend(),
                                  [&](const auto& sequence) { return sequence->client == client; });
  return found == running_.rend() ? nullptr : found->get();
}

int64_t Scheduler::running_of(const TokenCounters::Counter* client) const {
  return std::count_if(running_.begin(), running_.end(),
                       [&](const auto& sequence) { return sequence->client == client; });
}

int64_t Scheduler::blocks_of(const TokenCounters::Counter* client) const {
  int64_t blocks = 0;
  for (const auto& sequence : running_) {
    if (sequence->client == client) blocks += std::ssize(sequence->blocks);
  }
  return blocks;
}

void Scheduler::preempt(Sequence& sequence, StepPlan& plan) {
  ++preemptions_;
  std::erase_if(plan, [&](const Planned& planned) { return planned.sequence == &sequence; });
  sequence.draft.clear();
  memory_.preempt(sequence, seconds_per_token());
  std::unique_ptr<Sequence> owned = take_from(running_, sequence);
  sequence.phase = SequencePhase::kPreempted;
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

void Scheduler::reserve_for(DraftRoom& room) {
  Sequence& sequence = *room.sequence;
  if (!memory_.try_reserve(sequence, sequence.computed + room.most)) room.most = 1;  // which its next token has
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
    if (sequence.step_cost > 0) {
      TokenCounters::serve(*sequence.client, sequence.step_cost);
      continue;
    }
    const bool goes_back = !sequence.before.empty() && accepted[i] < drafted;
    Tensor& rows = sequence.lookahead.rows;
    if (rows.defined() && !goes_back) {
      const int64_t right = rows.dim(0) - 1 - (drafted - accepted[i]);
      sequence.lookahead.last = rows.with_layout(rows.layout().narrow(0, right, 1));
    }
    rows = {};
    if (goes_back) {
      sequence.state = std::move(sequence.before);  // a later pass runs over what was right of it again
    } else {
      sequence.computed += plan[i].tokens + accepted[i];
    }
    if (sequence.computed > sequence.reached) {  // what is computed again is not the client's doing
      TokenCounters::serve(*sequence.client, sequence.computed - sequence.reached);
      sequence.reached = sequence.computed;
    }
    sequence.before = {};
    sequence.draft.clear();
    memory_.settle(sequence);
    set_phase(sequence);
  }
  budget_.passed(tokens, seconds);
}

}  // namespace wick
