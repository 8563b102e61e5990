#pragma once

#include <memory>
#include <vector>

#include "engine/text/language_runner.h"
#include "engine/text/text_listeners.h"
#include "engine/text/text_source.h"
#include "models/adapter_slots.h"

namespace wick {

// What an engine lends the texts it generates.
struct TextTools {
  const TextModel& model;
  int64_t context;
  Drafter* drafter = nullptr;  // null: nobody drafts
  int64_t draft_tokens = 0;    // at most, at a time
  bool joins_equal = true;
  DType state_dtype = DType::kF16;  // of what an encoder made
};

// Text behind a prompt, as a request wants it: one sequence for each choice, which part at the prompt's end.
class TextTask final : public LanguageTask {
 public:
  // Throws Error(kInvalidArgument) for what can never be generated. What takes long is done here, by who asks.
  TextTask(const TextTools& tools, EngineRequest wanted, RequestListener listener);

  Client client() const override { return wanted_.client; }
  Priority priority() const override { return wanted_.priority; }
  std::optional<EngineClock::time_point> deadline() const override { return wanted_.deadline; }
  bool shares_prefix() const override {
    return wanted_.hooks.empty() && !wanted_.prompt_logprobs && !source_.is_there();
  }
  std::string_view cache_salt() const override { return salt_; }
  bool is_watched() const override { return !wanted_.hooks.empty(); }
  int64_t most_per_pass() const override;
  int64_t cut(const Sequence& sequence, int64_t end) const override;
  int64_t most_drafted(const Sequence& sequence) const override;
  bool goes_on(const Sequence& sequence) const override;

  void begin(TaskHost& host) override;
  void settle(TaskHost& host) override;
  bool is_over() const override { return has_failed_ || choices_left_ == 0; }
  void end(StopReason reason) override;
  void fail(const Error& error) override;
  void notify() override { listeners_.notify(); }
  size_t key() const override;
  bool try_join(Task& equal) override;
  bool try_leave(RequestId id) override;

  RowsWanted prepare(const Planned& planned) override;
  void add_draws(const Planned& planned, const RowsWanted& wanted, TokenDraws& to) override;
  bool add_draw_behind(const Planned& planned, TokenDraws& to) override;
  int64_t take(const Planned& planned, const PartLogits& rows, TaskHost& host) override;
  std::span<const InputEmbeddings> embeddings(const Sequence&) const override { return wanted_.embeddings; }
  RecurrentState* encoded() override { return source_.encoded(); }
  const SequenceHooks* hooks(const Sequence& sequence) const override;
  const std::vector<int64_t>* adapters() const override { return wanted_.adapters ? &*wanted_.adapters : nullptr; }

 private:
  // A choice of the request, and the text that grows for it.
  struct Choice {
    explicit Choice(Generation text) : generation(std::move(text)) {}

    Generation generation;
    Sequence* sequence = nullptr;  // null: it is over, or not begun
    SequenceHooks hooks;
    std::optional<Error> hook_error;  // what went wrong in them: the request fails, the others of the pass do not
    GenerateResult result;
    std::optional<EngineClock::time_point> started, first_token;
  };
  Choice& choice_of(const Sequence& sequence) const { return *choices_[static_cast<size_t>(sequence.index)]; }
  Choice& add_choice();
  int64_t prompt_tokens() const;  // that were given
  bool has_all_choices() const { return static_cast<int64_t>(choices_.size()) == wanted_.choices; }
  void score_prompt(const Planned& planned, const PartLogits& rows);
  void note_progress(const Planned& planned);
  void choose(Choice& choice, const TokenLogits& logits, TaskHost& host);
  void end_choice(size_t index);

  TextTools tools_;
  EngineRequest wanted_;
  std::vector<AdapterSlots::Hold> adapter_holds_;
  TextSource source_;
  RequestListener first_listener_;  // until it begins, or joins another
  TextListeners listeners_;
  std::vector<std::unique_ptr<Choice>> choices_;  // those that have begun
  int64_t choices_left_;
  std::string salt_;
  bool has_failed_ = false;
  int64_t prompt_done_ = 0;
  std::vector<SampledToken> prompt_logprobs_;  // log-probabilities of the prompt, as far as it is computed
  std::optional<TokenLogits> first_logits_;    // of this pass, for the choices that begin behind it
};

}  // namespace wick
