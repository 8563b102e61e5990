#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wick {

// One row of logits as a distribution over tokens. Looks at the logits, which must outlive it.
class VocabRow {
 public:
  explicit VocabRow(std::span<const float> logits);

  std::span<const float> logits() const { return logits_; }
  double log_sum() const { return log_sum_; }  // of e^logit
  double log_probability(int32_t token) const { return logits_[static_cast<size_t>(token)] - log_sum_; }
  double probability(int32_t token) const;
  double entropy() const { return entropy_; }  // in nats
  // How many tokens have a higher logit, or the same and a lower number; 0 for the best.
  int64_t rank(int32_t token) const;
  std::vector<int32_t> best(int64_t count) const;        // best first; equal logits by number
  void write_probabilities(std::span<float> out) const;  // of all tokens

 private:
  std::span<const float> logits_;
  double log_sum_ = 0, entropy_ = 0;
};

// sum p (log p - log q), in nats: how far q is from p. The second form takes p's probabilities, for one p and many q.
double kl_divergence(const VocabRow& p, const VocabRow& q);
double kl_divergence(const VocabRow& p, std::span<const float> probabilities, const VocabRow& q);

}  // namespace wick
