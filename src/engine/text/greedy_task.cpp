#include "engine/text/greedy_task.h"

#include <algorithm>

namespace wick {

GreedyTask::GreedyTask(std::vector<int32_t> prompt, int64_t most, Drafter* drafter, int64_t draft_tokens)
    : prompt_(std::move(prompt)), most_(most), drafter_(drafter), draft_tokens_(draft_tokens) {}

const std::vector<int32_t>& GreedyTask::tokens() const {
  if (error_) throw *error_;
  return tokens_;
}

void GreedyTask::begin(TaskHost& host) {
  auto sequence = std::make_unique<Sequence>();
  sequence->prompt_tokens = std::ssize(prompt_);
  sequence->tokens = std::move(prompt_);
  sequence->drafter = drafter_;
  host.add(std::move(sequence));
}

void GreedyTask::fail(const Error& error) {
  error_ = error;
  has_ended_ = true;
}

RowsWanted GreedyTask::prepare(const Planned& planned) {
  return {0, planned.reaches_end() ? 1 + std::ssize(planned.sequence->draft) : 0};
}

void GreedyTask::add_draws(const Planned&, const RowsWanted& wanted, TokenDraws& to) {
  to.rows.insert(to.rows.end(), static_cast<size_t>(wanted.chosen), TokenDraw{});
}

bool GreedyTask::add_draw_behind(const Planned&, TokenDraws& to) {
  to.rows.push_back({});
  return true;
}

int64_t GreedyTask::take(const Planned& planned, const PartLogits& rows, TaskHost& host) {
  Sequence& sequence = *planned.sequence;
  for (int64_t row = 0; row < rows.count.chosen; ++row) {
    const auto [logits, drawn] = rows.chosen(row);
    const auto token =
        drawn >= 0 ? drawn : static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    tokens_.push_back(token);
    sequence.tokens.push_back(token);
    host.yielded(sequence);
    if (is_over() || row + 1 == rows.count.chosen || sequence.draft[static_cast<size_t>(row)] != token) return row;
  }
  return 0;
}

}  // namespace wick
