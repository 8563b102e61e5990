#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/sampling/dry.h"
#include "engine/sampling/penalties.h"
#include "engine/sampling/sampling_params.h"
#include "ops/layers/token_draw.h"

namespace wick {

struct SampledToken {
  int32_t token = 0;
  // Natural logarithms of the model's own probabilities: those of the logits as they came, before any bias, penalty,
  // mask or temperature. Set when SamplingParams::logprobs is; `top` has the most likely first, then lower ids.
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;
};

// What a token is chosen from: the logits of the whole vocabulary, or what the device that has them drew from them.
struct TokenLogits {
  std::span<const float> logits;
  int32_t drawn = -1;
};

// Fills in what the model itself thinks of sampled.token, and its `top` likeliest tokens.
void report_logprobs(std::span<const float> logits, int64_t top, SampledToken& sampled);

// Chooses the tokens of one sequence. The answer depends on the logits, the parameters and the history alone: the draw
// for token i of the answer is number i of the seed (src/base/philox.h), whatever was sampled before or besides.
//
//   sampler.start(prompt);
//   const SampledToken sampled = sampler.sample(logits, mask);   // as often as liked: the same token
//   sampler.accept(sampled.token);
//
// To look ahead, accept tokens and rollback() afterwards, or copy: a copy holds the history and nothing large.
// One thread at a time may use an object. Working memory belongs to the thread: a steady loop allocates nothing but
// room for the history and what SampledToken::top holds.
class Sampler {
 public:
  using TokenText = std::function<std::string(int32_t)>;

  // `vocabulary`: the count of logits. `text`: the bytes that a token stands for; only DRY's breakers ask for them.
  // Throws Error(kInvalidArgument) as check_sampling_params() does, or when DRY has breakers and no `text`.
  Sampler(SamplingParams params, int64_t vocabulary, TokenText text = {});

  // Begins an answer to the prompt, forgetting any other. Tokens outside the vocabulary (placeholders) may be among it.
  void start(std::span<const int32_t> prompt);

  // The next token. `allowed` has bit i of word i/32 set for each token that may come, as GrammarState::mask() writes
  // it; tokens beyond its end are forbidden, and an empty one allows all. A logit of -inf forbids a token too.
  // Throws Error(kInvalidArgument) when the count of logits is wrong, one is NaN or +inf, or no token is allowed.
  SampledToken sample(std::span<const float> logits,  // [vocabulary]
                      std::span<const uint32_t> allowed = {});
  // How another can draw what sample() would choose once `ahead` more tokens were accepted, from logits that
  // add_edits() tells how to change. Nothing where that takes more than a TokenDraw says: log-probabilities, typical,
  // XTC, Mirostat, and penalties for tokens that are not accepted yet.
  std::optional<TokenDraw> plain_draw(int64_t ahead = 0) const;
  // Bias, penalties and DRY, for logits in this row of others.
  void add_edits(int32_t row, LogitEdits& to) const;

  // Puts a token behind the history: the one that sample() chose or any other. Mirostat learns from those that the
  // sample() just before had chosen, and from no others. Throws Error(kInvalidArgument) when there is no such token.
  void accept(int32_t token);
  // Takes back the last `count` accepted tokens. Throws Error(kInvalidArgument) when there are fewer.
  void rollback(int64_t count);

  int64_t accepted() const { return static_cast<int64_t>(history_.size() - prompt_size_); }
  const SamplingParams& params() const { return params_; }

 private:
  int32_t draw(std::span<const float> adjusted);
  std::pair<double, double> draws(int64_t ahead = 0) const;
  bool has_edits() const { return !bias_.empty() || penalties_.is_needed() || dry_.is_needed(); }
  std::span<const float> adjust(std::span<const float> logits, std::span<const uint32_t> allowed) const;

  SamplingParams params_;
  int64_t vocabulary_;
  std::vector<LogitEdit> bias_;  // a token once
  sampling::Penalties penalties_;
  sampling::Dry dry_;
  std::vector<int32_t> history_;
  size_t prompt_size_ = 0;
  std::vector<float> mu_;  // Mirostat's, at the prompt's end and after each token
  int32_t last_sampled_ = -1;
  float last_surprise_ = 0;
};

}  // namespace wick
