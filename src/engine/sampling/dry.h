#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/sampling/sampling_params.h"
#include "ops/layers/token_draw.h"

namespace wick::sampling {

struct DryMemory {
  std::vector<int32_t> matches;
  std::vector<std::pair<int32_t, int32_t>> runs;
};

// DRY ("don't repeat yourself", p-e-w 2024): a token that would continue a run of tokens that the history already holds
// is made less likely, the more so the longer the run.
//
// A breaker is found in the text, however it was cut into tokens: a run begins behind the token in which the last
// breaker ends. A token without text ends what a breaker may span; one outside the vocabulary (a placeholder for an
// image) is a breaker.
class Dry {
 public:
  using TokenText = std::function<std::string(int32_t)>;

  Dry(const SamplingParams& params, int64_t vocabulary, TokenText text);

  void start(std::span<const int32_t> prompt);
  void push(std::span<const int32_t> history);  // after a token was put behind the history
  void pop() {
    if (is_needed()) since_breaker_.pop_back();
  }

  bool is_needed() const { return multiplier_ > 0 && window_ > 0; }
  void add_edits(std::span<const int32_t> history, int32_t row, DryMemory& memory, std::vector<LogitEdit>& to) const;

 private:
  bool ends_breaker(std::span<const int32_t> history) const;  // whether a breaker ends in its last token
  void find_runs(std::span<const int32_t> history, int32_t limit, DryMemory& memory) const;

  float multiplier_, base_;
  int64_t allowed_length_, window_;
  std::vector<std::string> breakers_;
  size_t longest_ = 0;  // bytes of a breaker
  int64_t vocabulary_;
  TokenText text_;
  std::vector<int32_t> since_breaker_;  // tokens behind the last breaker: at the prompt's end, then per token
};

}  // namespace wick::sampling
