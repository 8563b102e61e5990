#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wick {

// How the next token is chosen from the logits. The defaults change nothing: sample from the model's own distribution.
// Order: logit bias, penalties (repetition, frequency, presence, DRY), grammar mask, then, when temperature > 0, top-k,
// typical, top-p, min-p, XTC, temperature, and one draw. Each of them sees the probabilities of what the one before has
// left. Mirostat replaces everything from top-k to XTC and comes behind temperature. See docs/sampling.md.
struct SamplingParams {
  float temperature = 1;  // 0 or less: the most likely token
  int64_t top_k = 0;      // keep the k most likely; 0: all
  float top_p = 1;        // keep the most likely tokens whose probabilities first add up to this
  float min_p = 0;        // keep tokens at least this likely relative to the most likely one
  float typical_p = 1;    // keep the tokens closest to the expected surprise that add up to this

  float repetition_penalty = 1;  // > 1: logits of tokens seen are divided (or multiplied, below 0) by this
  float frequency_penalty = 0;   // subtracted per time the token was generated
  float presence_penalty = 0;    // subtracted once if it was generated
  int64_t penalty_window = -1;   // how many of the last tokens count at all; -1: all, 0: none
  bool penalize_prompt = true;   // the prompt's tokens count as seen for the repetition penalty

  // DRY: a token that would continue a repeated run of n >= dry_allowed_length tokens loses
  // dry_multiplier * dry_base^(n - dry_allowed_length). Runs do not cross dry_breakers.
  float dry_multiplier = 0;  // 0: off
  float dry_base = 1.75f;
  int64_t dry_allowed_length = 2;
  int64_t dry_window = -1;  // how many of the last tokens are searched; -1: all, 0: none
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};

  float xtc_probability = 0;   // how often the most likely choices are left out
  float xtc_threshold = 0.1f;  // of the tokens at least this likely, only the least likely stays

  bool mirostat = false;  // version 2: aims at a surprise of tau bits per token
  float mirostat_tau = 5;
  float mirostat_eta = 0.1f;

  std::vector<std::pair<int32_t, float>> logit_bias;  // added to the logits of these tokens; -inf forbids one
  uint64_t seed = 0;
  // Report log-probabilities: of the chosen token and of this many of the most likely ones. Empty: of none.
  std::optional<int64_t> logprobs;

  bool operator==(const SamplingParams&) const = default;
};

// Throws Error(kInvalidArgument) naming the field that is out of range, e.g. a top_p of 1.5 or a bias for token -3.
void check_sampling_params(const SamplingParams& params, int64_t vocabulary);

}  // namespace wick
