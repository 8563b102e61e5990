#include "engine/sampling/mirostat.h"

#include <cmath>

namespace wick::sampling {

MirostatChoice Mirostat::draw(const PeakedLogits& logits, float temperature, float mu, double uniform,
                              Candidates& candidates) {
  constexpr double kLn2 = 0.6931471805599453;
  const double total = make_weights(logits.logits, logits.most, temperature, weights_).total;
  // -log2(p) <= mu, where ln(p) = (logit - most) / temperature - ln(total)
  const double below = (std::log(total) - static_cast<double>(mu) * kLn2) * static_cast<double>(temperature);
  if (!(below <= 0)) {  // even the most likely token surprises too much
    candidates.assign_one(logits.first_peak(), logits.most);
  } else {
    candidates.collect(logits, static_cast<float>(static_cast<double>(logits.most) + below));
  }
  const Weights weights = make_weights(candidates.logits(), logits.most, temperature, weights_);
  const size_t chosen = weights.draw(uniform);
  return {candidates.tokens()[chosen],
          static_cast<float>(-std::log2(static_cast<double>(weights.weights[chosen]) / weights.total))};
}

}  // namespace wick::sampling
