#pragma once

#include <cmath>

namespace wick::physics {

// Tunes a step size until the mean acceptance meets its target (Hoffman & Gelman 2014, section 3.2, their constants).
class DualAveraging {
 public:
  DualAveraging(double first_step, double target)
      : step_(first_step), final_step_(first_step), target_(target), pull_(std::log(10 * first_step)) {}

  // Takes in the mean acceptance probability of a draw made with step().
  void update(double acceptance) {
    ++count_;
    const double share = 1 / (count_ + kSettle);
    error_ = (1 - share) * error_ + share * (target_ - acceptance);
    const double log_step = pull_ - std::sqrt(count_) / kShrink * error_;
    const double weight = std::pow(count_, -kForget);  // 1 at first, so the first guess is forgotten
    step_ = std::exp(log_step);
    final_step_ = std::exp(weight * log_step + (1 - weight) * std::log(final_step_));
  }

  double step() const { return step_; }              // to explore with, during warm-up
  double final_step() const { return final_step_; }  // to keep, after it

 private:
  static constexpr double kShrink = 0.05, kSettle = 10, kForget = 0.75;

  double step_, final_step_;
  double target_;
  double pull_;  // steps are drawn towards ten times the first one: long ones cost less
  double error_ = 0;
  double count_ = 0;
};

}  // namespace wick::physics
