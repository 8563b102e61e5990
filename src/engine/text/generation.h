#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/sampling/grammar_guide.h"
#include "engine/sampling/sampler.h"
#include "engine/text/generate_result.h"
#include "engine/text/text_model.h"
#include "engine/text/text_stream.h"
#include "grammar/grammar.h"

namespace wick {

inline constexpr int64_t kMostBeams = 64;

// When a beam search ends: once there are as many texts as beams and none of those that go on is better for its length
// (kNo), whether it is or not (kYes), or once none could become better (kNever).
enum class EarlyStopping : uint8_t { kNo, kYes, kNever };

// Beam search, instead of one draw after the other.
struct BeamParams {
  int64_t count = 1;         // texts that are followed at once; 1: none are searched for
  float length_penalty = 1;  // a text's score is its log-probability by this power of its length
  EarlyStopping early_stopping = EarlyStopping::kNo;
  int64_t no_repeat_ngram = 0;  // no run of so many tokens comes twice; 0: they may

  bool operator==(const BeamParams&) const = default;
};

// What a text may look like and how long it may be.
struct GenerationParams {
  SamplingParams sampling;
  int64_t max_new_tokens = -1;     // -1: until the text ends or the context is full; 0: prefill only
  std::vector<std::string> stop;   // texts that end the answer; they are not part of it
  bool ignore_end = false;         // go on after tokens that end a text
  bool show_special = false;       // control tokens stay in the text, for those who take answers apart
  std::optional<Grammar> grammar;  // what the answer may look like
  GrammarStart grammar_start;      // what may stand before that
  BeamParams beams;

  bool operator==(const GenerationParams&) const = default;
};

// One text while it is generated: chooses tokens, turns them into text and knows when it is over. The model must live
// longer. One thread at a time.
class Generation {
 public:
  // Throws Error(kInvalidArgument) for parameters out of range.
  Generation(const TextModel& model, const GenerationParams& params, std::span<const int32_t> prompt);

  struct Step {
    SampledToken sampled;
    std::string text;       // what can be shown now
    bool is_shown = false;  // the token is part of the answer: all are but the one that ends it
  };
  // Puts one more row behind those that others are to draw from: what take() would choose once `ahead` more tokens were
  // taken. Where it needs the logits for that, the row says so.
  void add_draw(int64_t ahead, TokenDraws& to);
  // Chooses the next token. Throws Error(kBadFile) for logits that are not numbers, naming the
  // weight at fault, and Error(kInvalidArgument) when the grammar allows no token.
  Step take(const TokenLogits& logits);
  // Ends the answer from outside; the first reason counts.
  void end(StopReason reason);
  // Once it is over: the text that was held back, and what a result says of an answer.
  std::string finish(GenerateResult& result);

  bool is_over() const { return reason_.has_value(); }
  StopReason reason() const { return *reason_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::string& text() const { return text_; }
  // How many more tokens may come; the context is not considered.
  int64_t tokens_left() const;
  bool wants_tokens() const { return params_.max_new_tokens != 0; }

 private:
  void check_numbers(std::span<const float> logits) const;

  const TextModel& model_;
  GenerationParams params_;
  Sampler sampler_;
  TextStream stream_;
  std::optional<GrammarGuide> guide_;
  std::vector<int32_t> tokens_;
  std::string text_;
  std::optional<StopReason> reason_;
};

}  // namespace wick
