#pragma once

#include <memory>
#include <vector>

#include "engine/language_runner.h"
#include "engine/text_listeners.h"

namespace wick {

// What an engine lends the texts it generates.
struct TextTools {
  const TextModel& model;
  int64_t context;
  Drafter* drafter = nullptr;  // null: nobody drafts
  int64_t draft_tokens = 0;    // at most, at a time
  bool joins_equal = true;
};

// Text behind a prompt, as a request wants it: one sequence for each choice, which part at the prompt's end.
class TextTask final : public LanguageTask {
 public:
  // Throws Error(kInvalidArgument) for what can never be generated. What takes long is done here, by who asks.
  TextTask(const TextTools& tools, EngineRequest wanted, RequestListener listener);

  Priority priority() const override { return wanted_.priority; }
  std::optional<EngineClock::time_point> deadline() const override { return wanted_.deadline; }
  bool shares_prefix() const override { return wanted_.hooks.empty() && !wanted_.prompt_logprobs; }
  bool is_watched() const override { return !wanted_.hooks.empty(); }
  int64_t most_per_pass() const override;
  int64_t most_drafted(const Sequence& sequence) const override;
  bool goes_on(const Sequence& sequence) const override;

  void begin(TaskHost& host) override;
  void settle(TaskHost& host) override;
  bool is_over() const override { return has_failed_ || choices_left_ == 0; }
  void end(StopReason reason) override;
  void fail(const Error& error) override;
  void tell() override { listeners_.tell(); }
  size_t key() const override;
  bool try_join(Task& equal) override;
  bool try_leave(RequestId id) override;

  RowsWanted prepare(const Planned& planned) override;
  void add_draws(const Planned& planned, const RowsWanted& wanted, TokenDraws& to) override;
  bool add_draw_behind(const Planned& planned, TokenDraws& to) override;
  int64_t take(const Planned& planned, const PartLogits& rows, TaskHost& host) override;
  std::span<const InputEmbeddings> embeddings(const Sequence&) const override { return wanted_.embeddings; }
  const SequenceHooks* hooks(const Sequence& sequence) const override;

 private:
  // One text: a choice of the request.
  struct Line {
    explicit Line(Generation text) : generation(std::move(text)) {}

    Generation generation;
    Sequence* sequence = nullptr;  // null: it is over, or not begun
    SequenceHooks hooks;
    std::optional<Error> hook_error;  // what went wrong in them: the request fails, the others of the pass do not
    GenerateResult result;
    std::optional<EngineClock::time_point> started, first_token;
  };
  Line& line_of(const Sequence& sequence) const { return *lines_[static_cast<size_t>(sequence.index)]; }
  Line& add_line();
  bool has_all_lines() const { return static_cast<int64_t>(lines_.size()) == wanted_.choices; }
  void score_prompt(const Planned& planned, const PartLogits& rows);
  void note_progress(const Planned& planned);
  void choose(Line& line, const TokenLogits& logits, TaskHost& host);
  void end_line(size_t index);

  TextTools tools_;
  EngineRequest wanted_;
  RequestListener first_listener_;  // until it begins, or joins another
  TextListeners listeners_;
  std::vector<std::unique_ptr<Line>> lines_;  // those that have begun
  int64_t choices_left_;
  bool has_failed_ = false;
  int64_t prompt_done_ = 0;
  std::vector<SampledToken> prompt_logprobs_;  // log-probabilities of the prompt, as far as it is read
  std::optional<TokenLogits> first_logits_;    // of this pass, for the choices that begin behind it
};

}  // namespace wick
