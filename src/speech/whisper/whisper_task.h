#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/beams/beams.h"
#include "engine/text/language_runner.h"
#include "speech/whisper/whisper.h"
#include "speech/whisper/whisper_rules.h"

namespace wick {

// How a text is looked for.
struct WhisperSearchOptions {
  float temperature = 0;          // 0: the likeliest; above: the best of several that are drawn
  int64_t beams = 1;              // texts that are followed at once at temperature 0
  int64_t draws = 5;              // texts that are drawn
  uint64_t seed = 0, stream = 0;  // of the draws
};

// What was generated about one window.
struct WhisperText {
  std::vector<int32_t> tokens;  // without the end
  std::vector<float> logprobs;  // of each
  float sum_logprob = 0;        // with that of the end

  float mean_logprob() const { return sum_logprob / static_cast<float>(tokens.size() + 1); }
};

// What the texts of one window begin with.
struct WhisperPrompt {
  std::vector<int32_t> tokens;  // one that ends in <|notimestamps|> is continued without times
  size_t start = 0;             // where the start of transcript is
};

// Says how to write a text again, or nothing when it is good enough.
using WhisperJudge = std::function<std::optional<WhisperSearchOptions>(const WhisperText& text, float no_speech)>;

// Writes the text of one window: reads the prompt once, then goes on from it with several draws or beams, which share
// what they have in common and step together, until a text is good enough. What was encoded and the rules must live
// longer.
class WhisperTask final : public LanguageTask {
 public:
  // `encoded`: by CrossDecoder::state_for.
  WhisperTask(const Whisper& model, const WhisperRules& rules, RecurrentState& encoded, WhisperPrompt prompt,
              const WhisperSearchOptions& options, WhisperJudge judge);

  // Once it is over. Throws the error if there was one.
  void check() const;
  float no_speech() const { return no_speech_; }  // the probability that nobody speaks
  double prompt_seconds() const { return prompt_seconds_; }
  double decode_seconds() const { return decode_seconds_; }

  void begin(TaskHost& host) override;
  void settle(TaskHost& host) override;
  bool is_over() const override { return is_over_; }
  void end(StopReason reason) override;
  void fail(const Error& error) override;

  RowsWanted prepare(const Planned& planned) override;
  int64_t take(const Planned& planned, const PartLogits& rows, TaskHost& host) override;
  RecurrentState* encoded() override { return &encoded_; }

 private:
  bool searches() const { return options_.temperature <= 0 && options_.beams > 1; }
  std::vector<float> score(std::span<const float> logits, std::span<const int32_t> generated) const;
  Beam& hypothesis_of(const Sequence& sequence);
  void begin_attempt();
  void step(TaskHost& host);
  void step_draws(TaskHost& host);
  void step_beams(TaskHost& host);
  void end_attempt(TaskHost& host);
  WhisperText take_best();

  const WhisperRules& rules_;
  RecurrentState& encoded_;
  WhisperPrompt prompt_;
  WhisperSearchOptions options_;
  WhisperJudge judge_;
  bool times_;  // are generated
  int64_t most_steps_;

  Sequence* base_ = nullptr;         // the prompt
  std::vector<float> first_logits_;  // behind it; empty: not read yet
  float no_speech_ = 0;
  std::vector<Beam> hypotheses_, done_;  // draws or beams
  int64_t steps_ = 0;
  bool is_over_ = false;
  std::optional<Error> error_;
  std::optional<EngineClock::time_point> started_;
  double prompt_seconds_ = 0, decode_seconds_ = 0;
};

// Finds out which language is spoken.
class WhisperLanguageTask final : public LanguageTask {
 public:
  WhisperLanguageTask(const WhisperRules& rules, RecurrentState& encoded) : rules_(rules), encoded_(encoded) {}
  size_t found() const;  // once it is over: an index into WhisperTokens::languages. Throws the error if there was one

  void begin(TaskHost& host) override;
  void settle(TaskHost&) override {}
  bool is_over() const override { return is_over_; }
  void end(StopReason reason) override;
  void fail(const Error& error) override;

  RowsWanted prepare(const Planned&) override { return {0, 1}; }
  int64_t take(const Planned& planned, const PartLogits& rows, TaskHost& host) override;
  RecurrentState* encoded() override { return &encoded_; }

 private:
  const WhisperRules& rules_;
  RecurrentState& encoded_;
  size_t found_ = 0;
  bool is_over_ = false;
  std::optional<Error> error_;
};

}  // namespace wick
