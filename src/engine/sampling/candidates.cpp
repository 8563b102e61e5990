#include "engine/sampling/candidates.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace wick::sampling {

float Candidates::most() const { return *std::max_element(logits_.begin(), logits_.begin() + count_); }

void Candidates::assign_one(int32_t token, float logit) {
  at_least(logits_, 1)[0] = logit;
  at_least(tokens_, 1)[0] = token;
  count_ = 1;
}

void Candidates::collect(const PeakedLogits& from, float least) {
  const size_t total = from.logits.size();
  least = std::max(least, std::numeric_limits<float>::lowest());  // above -inf
  float* logits = at_least(logits_, total).data();
  int32_t* tokens = at_least(tokens_, total).data();
  size_t count = 0;
  for (size_t b = 0; b < from.peaks.size(); ++b) {
    if (!(from.peaks[b] >= least)) continue;
    const size_t end = std::min((b + 1) * kBlock, total);
    for (size_t i = b * kBlock; i < end; ++i) {
      const float logit = from.logits[i];
      logits[count] = logit;
      tokens[count] = static_cast<int32_t>(i);
      count += logit >= least ? 1 : 0;
    }
  }
  count_ = count;
}

void Candidates::collect_top(const PeakedLogits& from, size_t k) {
  float least = kForbidden;
  if (k <= from.peaks.size()) {  // k blocks reach this high, so the k highest logits do
    const std::span<float> peaks = at_least(peaks_, from.peaks.size());
    std::copy(from.peaks.begin(), from.peaks.end(), peaks.begin());
    const auto kth = peaks.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(peaks.begin(), kth, peaks.end(), std::greater<>());
    least = *kth;
  }
  collect(from, least);
  keep_top(k);
}

void Candidates::keep_top(size_t k) {
  if (k >= count_) return;
  const std::span<uint64_t> keys = at_least(keys_, count_);
  for (size_t i = 0; i < count_; ++i) keys[i] = order_key(descending(logits_[i]), i);
  const auto last = keys.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(keys.begin(), last, keys.end());
  const uint64_t cut = *last;
  filter([&](size_t i) { return order_key(descending(logits_[i]), i) <= cut; });
}

}  // namespace wick::sampling
