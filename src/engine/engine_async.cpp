#include <algorithm>
#include <utility>

#include "engine/compute_mutex.h"
#include "engine/engine.h"

// What is done beside a pass: drafts before it, and async scheduling, which starts the next pass before the outputs of
// this one have come.
namespace wick {
namespace {

using Lock = std::lock_guard<std::mutex>;

void set_ahead(const StepPlan& plan, int64_t positions) {
  for (const Planned& planned : plan) planned.sequence->ahead = positions;
}

}  // namespace

// Has all sequences with the same drafter drafted for at once.
void Engine::draft(const StepPlan& plan) {
  std::vector<Scheduler::DraftRoom> room = scheduler_.draft_room(plan);
  while (!room.empty()) {
    Drafter* const drafter = room.front().sequence->drafter;
    const auto rest = std::stable_partition(room.begin(), room.end(),
                                            [&](const auto& each) { return each.sequence->drafter == drafter; });
    std::vector<Draft> drafts;
    for (auto each = room.begin(); each != rest; ++each) {
      if (drafter->is_own()) {
        const Lock lock(state_mutex_);
        scheduler_.reserve_for(*each);
      }
      const Sequence& sequence = *each->sequence;
      drafts.push_back({sequence.tokens, each->most, {}, sequence.lookahead.last, sequence.blocks, &memory_.cache()});
    }
    drafter->propose(drafts);
    const Lock lock(state_mutex_);
    for (size_t i = 0; i < drafts.size(); ++i) scheduler_.add_draft(*room[i].sequence, std::move(drafts[i].tokens));
    room.erase(room.begin(), rest);
  }
}

// Starts the pass behind this one, if it is known who takes part and the outputs need not come to the host first.
// Whoever turns out to be over leaves it.
void Engine::run_ahead(const Step& step) {
  if (step.passes.size() != 1 || compute_mutex().waiting() > 0) return;
  const Pass& pass = *step.passes.front();
  Runner* const own = pass.plan().front().sequence->task->runner();
  Runner& runner = own ? *own : runner_;
  const Lock lock(state_mutex_);
  {
    const Lock inbox(inbox_mutex_);
    if (!submissions_.empty() || !cancels_.empty() || is_stopping_) return;
  }
  if (!runner.can_start_behind(pass) || !scheduler_.try_plan_ahead(pass.plan())) return;
  ahead_.emplace();
  ahead_->passes.push_back(runner.start_behind(pass));
  ahead_->plan = ahead_->passes.front()->plan();
  set_ahead(ahead_->plan, 1);
}

// The pass that was started ahead, for those who are still there.
std::optional<Engine::Step> Engine::take_ahead() {
  if (!ahead_) return std::nullopt;
  const Lock lock(state_mutex_);
  take_in();
  end_late();
  set_ahead(ahead_->plan, 0);
  std::optional<Step> step = std::exchange(ahead_, std::nullopt);
  if (step->plan.empty()) return std::nullopt;
  ++counters_.steps_ahead;
  return step;
}

void Engine::stay_back() {
  if (!ahead_) return;
  set_ahead(ahead_->plan, 0);
  ahead_.reset();
}

// Listeners of a model on a GPU are notified of a pass while the next one is computed, unless there is none, somebody
// else's comes first, or somebody looks at values that it would overwrite.
bool Engine::may_emit_late() const {
  if (model_.device() == Device::cpu() || scheduler_.running().empty() || compute_mutex().waiting() > 0) return false;
  return std::none_of(scheduler_.running().begin(), scheduler_.running().end(),
                      [](const auto& sequence) { return sequence->task->is_watched(); });
}

}  // namespace wick
