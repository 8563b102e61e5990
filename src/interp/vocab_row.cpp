#include "interp/vocab_row.h"

#include <algorithm>
#include <cmath>

namespace wick {
namespace {

constexpr size_t kBlock = 1024;  // numbers that are summed in f32 before they join the f64 sum

template <typename Term>
double sum_of(size_t count, const Term& term) {
  double sum = 0;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    float part = 0;
    for (size_t i = begin; i < std::min(count, begin + kBlock); ++i) part += term(i);
    sum += part;
  }
  return sum;
}

}  // namespace

VocabRow::VocabRow(std::span<const float> logits) : logits_(logits), log_sum_(0) {
  const float most = *std::max_element(logits.begin(), logits.end());
  log_sum_ = most + std::log(sum_of(logits.size(), [&](size_t i) { return std::exp(logits[i] - most); }));
}

double VocabRow::probability(int32_t token) const { return std::exp(log_probability(token)); }

double VocabRow::entropy() const {
  const auto log_sum = static_cast<float>(log_sum_);
  return sum_of(logits_.size(), [&](size_t i) {
    const float log_p = logits_[i] - log_sum, p = std::exp(log_p);
    return p > 0 ? -p * log_p : 0.f;
  });
}

int64_t VocabRow::rank(int32_t token) const {
  const float own = logits_[static_cast<size_t>(token)];
  const auto before = logits_.first(static_cast<size_t>(token)), behind = logits_.subspan(before.size());
  return std::count_if(before.begin(), before.end(), [own](float x) { return x >= own; }) +
         std::count_if(behind.begin(), behind.end(), [own](float x) { return x > own; });
}

std::vector<int32_t> VocabRow::best(int64_t count) const {
  const auto better = [this](int32_t a, int32_t b) {
    const float x = logits_[static_cast<size_t>(a)], y = logits_[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto wanted = static_cast<size_t>(std::clamp<int64_t>(count, 0, static_cast<int64_t>(logits_.size())));
  // A heap of the best so far, the worst of them on top: most tokens fail one comparison.
  std::vector<int32_t> heap;
  for (size_t i = 0; wanted > 0 && i < logits_.size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    if (heap.size() == wanted) {
      if (!better(token, heap.front())) continue;
      std::pop_heap(heap.begin(), heap.end(), better);
      heap.pop_back();
    }
    heap.push_back(token);
    std::push_heap(heap.begin(), heap.end(), better);
  }
  std::sort_heap(heap.begin(), heap.end(), better);
  return heap;
}

double kl_divergence(const VocabRow& p, const VocabRow& q) {
  const auto zero = static_cast<int32_t>(0);
  const double p_sum = p.logits()[0] - p.log_probability(zero), q_sum = q.logits()[0] - q.log_probability(zero);
  const auto shift = static_cast<float>(q_sum - p_sum), log_sum = static_cast<float>(p_sum);
  const double sum = sum_of(p.logits().size(), [&](size_t i) {
    const float weight = std::exp(p.logits()[i] - log_sum);
    return weight > 0 ? weight * (p.logits()[i] - q.logits()[i] + shift) : 0.f;
  });
  return std::max(sum, 0.0);
}

}  // namespace wick
