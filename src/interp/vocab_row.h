#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wick {

// One row of logits as a distribution over tokens.
class VocabRow {
 public:
  explicit VocabRow(std::span<const float> logits);

  std::span<const float> logits() const { return logits_; }
  double log_probability(int32_t token) const { return logits_[static_cast<size_t>(token)] - log_sum_; }
  double probability(int32_t token) const;
  double entropy() const;  // in nats
  // How many tokens have a higher logit, or the same and a lower number; 0 for the best.
  int64_t rank(int32_t token) const;
  std::vector<int32_t> best(int64_t count) const;  // best first; equal logits by number

 private:
  std::span<const float> logits_;
  double log_sum_;  // of e^logit
};

// sum p (log p - log q), in nats: how far q is from p.
double kl_divergence(const VocabRow& p, const VocabRow& q);

}  // namespace wick
