#include "interp/vocab_row.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/recurrent/fast_exp.h"

namespace wick {
namespace {

constexpr size_t kLanes = 8;      // sums side by side, so that compilers use SIMD instructions
constexpr size_t kBlock = 1024;   // numbers that are summed in f32 before they join the f64 sums
constexpr float kNothing = -100;  // e^this is 0 among numbers whose largest is 1

// Calls term(i, sums) for each i, where `sums` are those of one lane; their totals, in an order that is always the
// same.
template <size_t kSums, typename Term>
std::array<double, kSums> sum_of(size_t count, const Term& term) {
  std::array<double, kSums> totals{};
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(count, begin + kBlock), whole = begin + (end - begin) / kLanes * kLanes;
    float lanes[kSums][kLanes] = {};
    for (size_t i = begin; i < whole; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const std::array<float, kSums> terms = term(i + lane);
        for (size_t s = 0; s < kSums; ++s) lanes[s][lane] += terms[s];
      }
    }
    for (size_t i = whole; i < end; ++i) {
      const std::array<float, kSums> terms = term(i);
      for (size_t s = 0; s < kSums; ++s) lanes[s][i - whole] += terms[s];
    }
    for (size_t s = 0; s < kSums; ++s) {
      for (const float lane : lanes[s]) totals[s] += lane;
    }
  }
  return totals;
}

}  // namespace

VocabRow::VocabRow(std::span<const float> logits) : logits_(logits) {
  float most = logits.front();
  for (const float logit : logits) most = logit > most ? logit : most;
  const float* x = logits.data();
  const auto [sum, weighted] = sum_of<2>(logits.size(), [x, most](size_t i) {
    const float below = x[i] - most, kept = below > kNothing ? below : kNothing;
    const float share = fast_exp(kept);
    return std::array<float, 2>{share, share * kept};
  });
  log_sum_ = most + std::log(sum);
  entropy_ = std::max(0.0, std::log(sum) - weighted / sum);
}

double VocabRow::probability(int32_t token) const { return std::exp(log_probability(token)); }

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

void VocabRow::write_probabilities(std::span<float> out) const {
  const auto log_sum = static_cast<float>(log_sum_);
  for (size_t i = 0; i < out.size(); ++i) out[i] = fast_exp(logits_[i] - log_sum);
}

double kl_divergence(const VocabRow& p, std::span<const float> probabilities, const VocabRow& q) {
  const float *weight = probabilities.data(), *a = p.logits().data(), *b = q.logits().data();
  const auto [sum] = sum_of<1>(probabilities.size(), [=](size_t i) {
    return std::array<float, 1>{weight[i] > 0 ? weight[i] * (a[i] - b[i]) : 0.f};
  });
  return std::max(sum + q.log_sum() - p.log_sum(), 0.0);
}

double kl_divergence(const VocabRow& p, const VocabRow& q) {
  std::vector<float> probabilities(p.logits().size());
  p.write_probabilities(probabilities);
  return kl_divergence(p, probabilities, q);
}

}  // namespace wick
