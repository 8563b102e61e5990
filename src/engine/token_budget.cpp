#include "engine/token_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wick {
namespace {

constexpr double kKeep = 0.97;   // of what was learned, per pass
constexpr double kSmooth = 0.8;  // of a ratio, per measurement
constexpr double kStep = 1.05;   // by which passes grow or shrink at a time
constexpr int64_t kFirst = 64;   // tokens, while nothing is known

double target_of(double seconds) {
  return seconds > 0 ? std::max(seconds, 1e-3) : std::numeric_limits<double>::infinity();
}

double smoothed(double before, double now) { return before == 0 ? now : kSmooth * before + (1 - kSmooth) * now; }

}  // namespace

TokenBudget::TokenBudget(double first_token_seconds, double next_token_seconds, int64_t most)
    : first_target_(target_of(first_token_seconds)),
      next_target_(target_of(next_token_seconds)),
      most_(std::max<int64_t>(most, 1)),
      pass_seconds_(next_target_) {}

void TokenBudget::passed(int64_t tokens, double seconds) {
  const auto x = static_cast<double>(tokens);
  weight_ = kKeep * weight_ + 1;
  tokens_ = kKeep * tokens_ + x;
  seconds_ = kKeep * seconds_ + seconds;
  tokens_squared_ = kKeep * tokens_squared_ + x * x;
  product_ = kKeep * product_ + x * seconds;
}

void TokenBudget::first_token_after(double seconds) {
  first_ratio_ = smoothed(first_ratio_, seconds / first_target_);
  steer();
}

void TokenBudget::next_token_after(double seconds) {
  next_ratio_ = smoothed(next_ratio_, seconds / next_target_);
  steer();
}

void TokenBudget::steer() {
  pass_seconds_ *= first_ratio_ > next_ratio_ ? kStep : 1 / kStep;
  pass_seconds_ = std::clamp(pass_seconds_, next_target_ / 2, std::max(first_target_ / 2, next_target_));
}

double TokenBudget::seconds_for(int64_t tokens) const {
  if (weight_ == 0) return 0;
  const double mean_x = tokens_ / weight_, mean_y = seconds_ / weight_;
  const double variance = tokens_squared_ / weight_ - mean_x * mean_x;
  // Passes all of one length tell nothing about others: then time is taken to grow with the tokens.
  double each = variance > 1 ? (product_ / weight_ - mean_x * mean_y) / variance : mean_y / mean_x;
  each = std::clamp(each, 0.0, mean_y / mean_x);
  return std::max(mean_y + each * (static_cast<double>(tokens) - mean_x), 0.0);
}

int64_t TokenBudget::tokens(int64_t decodes) const {
  const int64_t least = decodes + std::min(kLeastPrompt, most_);
  if (std::isinf(std::max(first_target_, next_target_))) return std::max(least, most_);
  if (weight_ == 0) return std::max(least, std::min(kFirst, most_));
  // Nobody minds a long pass while no answer runs, but who comes next.
  const double allowed = decodes > 0 ? pass_seconds_ : std::max(first_target_, pass_seconds_);
  const double none = seconds_for(0), each = (seconds_for(1024) - none) / 1024;
  const double fitting = each > 0 ? (allowed - none) / each : static_cast<double>(most_);
  const auto count = static_cast<int64_t>(std::clamp(fitting, 0.0, static_cast<double>(most_)));
  return std::max(least, count);
}

}  // namespace wick
