#pragma once

#include <cstdint>

namespace wick {

// How many tokens a pass should have. Learns what passes cost, seconds = base + tokens * each, and steers their length
// between two wishes: short passes, so that decode goes on (time per token), and long ones, for the sake of prefill
// (time to first token). Whichever target is missed by more gets its way. Not thread-safe.
class TokenBudget {
 public:
  // Seconds of 0: however long.
  TokenBudget(double first_token_seconds, double next_token_seconds, int64_t most);

  // What happened.
  void passed(int64_t tokens, double seconds);
  void first_token_after(double seconds);
  void next_token_after(double seconds);

  // Tokens for the next pass when `decodes` sequences get one each and prompts wait for prefill: at least
  // decodes + kLeastPrompt, at most what the constructor was given (or the decodes, if they are more).
  int64_t tokens(int64_t decodes) const;
  double seconds_for(int64_t tokens) const;  // 0 while nothing is known
  double pass_seconds() const { return pass_seconds_; }

  static constexpr int64_t kLeastPrompt = 16;

 private:
  void steer();

  double first_target_, next_target_;
  int64_t most_;
  double pass_seconds_;                      // how long a pass may take while answers run
  double first_ratio_ = 0, next_ratio_ = 0;  // measured over wanted, averaged
  // Sums over passes, older ones weighing less, for the straight line through (tokens, seconds).
  double weight_ = 0, tokens_ = 0, seconds_ = 0, tokens_squared_ = 0, product_ = 0;
};

}  // namespace wick
