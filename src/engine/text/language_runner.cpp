#include "engine/text/language_runner.h"

#include <algorithm>
#include <iterator>

#include "engine/text/prompt_embeddings.h"

namespace wick {
namespace {

LanguageTask& task_of(const Sequence& sequence) { return static_cast<LanguageTask&>(*sequence.task); }

}  // namespace

class LanguageRunner::LanguagePass final : public Pass {
 public:
  struct Rows {
    int64_t first;
    RowsWanted count;
  };
  LanguagePass(StepPlan plan, std::vector<Rows> rows, Logits logits)
      : Pass(std::move(plan)), rows_(std::move(rows)), logits_(std::move(logits)) {}

  void fetch() override { logits_.fetch(); }
  int64_t take(size_t i, TaskHost& host) override {
    return task_of(*plan_[i].sequence).take(plan_[i], {logits_, rows_[i].first, rows_[i].count}, host);
  }
  // Otherwise the host chooses other tokens than the device took.
  bool is_followed() const override { return logits_.all_drawn(); }
  void leave(const Sequence& sequence) override {
    for (size_t i = plan_.size(); i-- > 0;) {
      if (plan_[i].sequence == &sequence) rows_.erase(rows_.begin() + static_cast<ptrdiff_t>(i));
    }
    Pass::leave(sequence);
  }

  const Logits& logits() const { return logits_; }
  const RowsWanted& rows(size_t i) const { return rows_[i].count; }

 private:
  std::vector<Rows> rows_;  // per planned sequence
  Logits logits_;
};

void LanguageTask::add_draws(const Planned&, const RowsWanted& wanted, TokenDraws& to) {
  to.rows.insert(to.rows.end(), static_cast<size_t>(wanted.scored + wanted.chosen), TokenDraw{.needs_row = true});
}

std::unique_ptr<Pass> LanguageRunner::start(const StepPlan& plan) {
  batch_.clear();
  std::vector<LanguagePass::Rows> all_rows;
  for (const Planned& planned : plan) {
    Sequence& sequence = *planned.sequence;
    LanguageTask& task = task_of(sequence);
    const auto first = static_cast<int64_t>(batch_.tokens.size());
    const auto begin = sequence.tokens.begin() + sequence.computed;
    std::transform(begin, begin + planned.tokens, std::back_inserter(batch_.tokens), token_or_place);
    batch_.tokens.insert(batch_.tokens.end(), sequence.draft.begin(), sequence.draft.end());
    const int64_t rows = static_cast<int64_t>(batch_.tokens.size()) - first;
    if (!sequence.draft.empty() && !sequence.state.empty()) {
      const ArenaPause keep;
      sequence.before = sequence.state.clone();
    }
    const bool looks_ahead = sequence.drafter && sequence.drafter->is_own();
    sequence.lookahead.kept = 1 + std::ssize(sequence.draft);
    batch_.sequences.push_back({rows, sequence.computed, sequence.blocks,
                                sequence.state.empty() ? task.encoded() : &sequence.state, task.hooks(sequence),
                                task.embeddings(sequence), task.adapters(),
                                looks_ahead ? &sequence.lookahead : nullptr});
    const RowsWanted wanted = task.prepare(planned);
    all_rows.push_back({static_cast<int64_t>(batch_.logit_rows.size()), wanted});
    for (int64_t row = 0; row < wanted.scored; ++row) batch_.logit_rows.push_back(first + row);
    for (int64_t row = rows - wanted.chosen; row < rows; ++row) batch_.logit_rows.push_back(first + row);
  }
  Tensor logits = model_.forward(batch_, cache_);
  draws_.clear();  // planned while a GPU computes
  for (size_t i = 0; i < plan.size() && Logits::can_draw(model_); ++i) {
    task_of(*plan[i].sequence).add_draws(plan[i], all_rows[i].count, draws_);
  }
  return std::make_unique<LanguagePass>(plan, std::move(all_rows), Logits(std::move(logits), draws_));
}

// Where the device draws all tokens, they need not come to the host first.
bool LanguageRunner::can_start_behind(const Pass& before) {
  const auto& pass = static_cast<const LanguagePass&>(before);
  const Tensor drawn = pass.logits().drawn();
  if (!drawn.defined() || !model_.facts().takes_drawn || model_.facts().recurrent) return false;
  if (drawn.numel() != static_cast<int64_t>(pass.plan().size())) return false;  // some have left
  draws_.clear();
  for (size_t i = 0; i < pass.plan().size(); ++i) {
    const Planned& planned = pass.plan()[i];
    LanguageTask& task = task_of(*planned.sequence);
    if (pass.rows(i).chosen != 1 || pass.rows(i).scored != 0 || task.hooks(*planned.sequence)) return false;
    if (!task.add_draw_behind(planned, draws_)) return false;
  }
  return true;
}

std::unique_ptr<Pass> LanguageRunner::start_behind(const Pass& before) {
  const auto& pass = static_cast<const LanguagePass&>(before);
  batch_.clear();
  batch_.drawn = pass.logits().drawn();
  StepPlan plan;
  std::vector<LanguagePass::Rows> rows;
  for (const Planned& planned : pass.plan()) {
    const auto row = static_cast<int64_t>(plan.size());
    const Sequence& sequence = *planned.sequence;
    batch_.tokens.push_back(0);
    batch_.sequences.push_back({1, static_cast<int64_t>(sequence.tokens.size()), sequence.blocks, nullptr, nullptr,
                                task_of(sequence).embeddings(sequence), task_of(sequence).adapters()});
    batch_.logit_rows.push_back(row);
    plan.push_back({planned.sequence, 1});
    rows.push_back({row, {0, 1}});
  }
  Tensor logits = model_.forward(batch_, cache_);
  return std::make_unique<LanguagePass>(std::move(plan), std::move(rows), Logits(std::move(logits), draws_));
}

}  // namespace wick
