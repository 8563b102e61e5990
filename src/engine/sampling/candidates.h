#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampling/weights.h"

namespace wick::sampling {

// The tokens still in the race with their logits, always in the order of the tokens: nothing depends on how a sort
// treats equals.
class Candidates {
 public:
  size_t size() const { return count_; }
  std::span<const float> logits() const { return {logits_.data(), count_}; }
  std::span<const int32_t> tokens() const { return {tokens_.data(), count_}; }
  float most() const;

  // Those with a logit of at least `least`; never a forbidden one.
  void collect(const PeakedLogits& from, float least = kForbidden);
  // The k with the highest logits; of equal ones the first.
  void collect_top(const PeakedLogits& from, size_t k);
  void assign_one(int32_t token, float logit);

  // Keeps those whose index satisfies `keep`.
  template <typename Keep>
  void filter(const Keep& keep) {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i) {
      const bool stays = keep(i);
      logits_[kept] = logits_[i];
      tokens_[kept] = tokens_[i];
      kept += stays ? 1 : 0;
    }
    count_ = kept;
  }

 private:
  void keep_top(size_t k);

  std::vector<float> logits_;  // the first count_ count
  std::vector<int32_t> tokens_;
  size_t count_ = 0;
  std::vector<float> peaks_;
  std::vector<uint64_t> keys_;
};

}  // namespace wick::sampling
