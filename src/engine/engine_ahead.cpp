#include <algorithm>
#include <utility>

#include "engine/compute_turn.h"
#include "engine/engine.h"

// Passes that are started before the tokens of the one before have come to the host.
namespace wick {
namespace {

using Lock = std::lock_guard<std::mutex>;

}  // namespace

void Engine::Pass::leave(const Sequence& sequence) {
  const auto found =
      std::find_if(plan.begin(), plan.end(), [&](const Planned& planned) { return planned.sequence == &sequence; });
  if (found == plan.end()) return;
  rows.erase(rows.begin() + (found - plan.begin()));
  plan.erase(found);
}

// The pass that was started ahead, for those who are still there.
std::optional<Engine::Pass> Engine::take_ahead() {
  if (!ahead_) return std::nullopt;
  const Lock lock(state_mutex_);
  take_in();
  end_late();
  for (const Planned& planned : ahead_->plan) planned.sequence->ahead = 0;
  std::optional<Pass> pass = std::exchange(ahead_, std::nullopt);
  if (pass->plan.empty()) return std::nullopt;
  ++counters_.steps_ahead;
  return pass;
}

void Engine::stay_back() {
  if (!ahead_) return;
  for (const Planned& planned : ahead_->plan) planned.sequence->ahead = 0;
  ahead_.reset();
}

// Starts the pass behind this one, if it is known who takes part and a device draws all tokens: they need not come to
// the host first. Whoever's answer turns out to be over leaves it.
void Engine::run_ahead(const Pass& pass) {
  const ModelFacts& facts = model_->model().facts();
  const Tensor drawn = pass.logits.drawn();
  if (!drawn.defined() || !facts.takes_drawn || facts.recurrent || compute_turn().waiting() > 0) return;
  if (drawn.numel() != static_cast<int64_t>(pass.plan.size())) return;  // some have left
  const Lock lock(state_mutex_);
  {
    const Lock inbox(inbox_mutex_);
    if (!submissions_.empty() || !cancels_.empty() || is_stopping_) return;
  }
  draws_.clear();
  for (size_t i = 0; i < pass.plan.size(); ++i) {
    const OpenRequest& request = *pass.plan[i].sequence->request;
    if (pass.rows[i].chosen != 1 || pass.rows[i].scored != 0 || request.has_hooks()) return;
    if (request.choices_begun < request.wanted.choices) return;
    pass.plan[i].sequence->answer->add_draw(1, draws_);
    if (draws_.rows.back().needs_row) return;
  }
  if (!scheduler_.try_plan_ahead(pass.plan)) return;
  batch_.clear();
  batch_.drawn = drawn;
  StepPlan plan;
  std::vector<LogitRows> rows;
  for (const Planned& planned : pass.plan) {
    const auto row = static_cast<int64_t>(plan.size());
    const Sequence& sequence = *planned.sequence;
    batch_.tokens.push_back(0);
    batch_.sequences.push_back({1, static_cast<int64_t>(sequence.tokens.size()), sequence.blocks, nullptr, nullptr,
                                sequence.request->wanted.embeddings});
    batch_.logit_rows.push_back(row);
    plan.push_back({planned.sequence, 1});
    rows.push_back({row, 0, 1});
  }
  Tensor logits = model_->model().forward(batch_, memory_.cache());
  ahead_.emplace(Pass{std::move(plan), std::move(rows), {std::move(logits), draws_}});
  for (const Planned& planned : ahead_->plan) planned.sequence->ahead = 1;
}

}  // namespace wick
