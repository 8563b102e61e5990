#pragma once

#include <optional>
#include <vector>

#include "engine/text/language_runner.h"

namespace wick {

// The likeliest tokens behind a prompt, and no text of them: what drafting and measuring need.
class GreedyTask final : public LanguageTask {
 public:
  // `drafter`: drafts up to `draft_tokens` at a time and must live longer; may be null.
  GreedyTask(std::vector<int32_t> prompt, int64_t most, Drafter* drafter = nullptr, int64_t draft_tokens = 0);

  // Once it is over: the tokens, or fewer if the context is full. Throws the error if there was one.
  const std::vector<int32_t>& tokens() const;

  bool shares_prefix() const override { return true; }
  int64_t most_drafted(const Sequence&) const override { return std::min(draft_tokens_, left() - 1); }
  bool goes_on(const Sequence&) const override { return left() > 1; }
  void begin(TaskHost& host) override;
  void settle(TaskHost&) override {}
  bool is_over() const override { return has_ended_ || left() == 0; }
  void end(StopReason) override { has_ended_ = true; }
  void fail(const Error& error) override;

  RowsWanted prepare(const Planned& planned) override;
  void add_draws(const Planned& planned, const RowsWanted& wanted, TokenDraws& to) override;
  bool add_draw_behind(const Planned&, TokenDraws& to) override;
  int64_t take(const Planned& planned, const PartLogits& rows, TaskHost& host) override;

 private:
  int64_t left() const { return most_ - static_cast<int64_t>(tokens_.size()); }

  std::vector<int32_t> prompt_, tokens_;
  int64_t most_;
  Drafter* drafter_;
  int64_t draft_tokens_;
  bool has_ended_ = false;
  std::optional<Error> error_;
};

}  // namespace wick
