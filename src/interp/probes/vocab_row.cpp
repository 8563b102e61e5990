#include "interp/probes/vocab_row.h"

#include <algorithm>
#include <cmath>

#include "base/fast_exp.h"

namespace wick {
namespace {

constexpr size_t kLanes = 8;      // sums side by side, so that compilers use SIMD instructions
constexpr size_t kBlock = 1024;   // numbers that are summed in f32 before they join the f64 sums
constexpr float kNothing = -100;  // e^this is 0 among numbers whose largest is 1

// Adds a block's numbers to a total, in an order that is always the same.
void add_block(double& total, std::span<const float> terms) {
  float lanes[kLanes] = {};
  const size_t whole = terms.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += terms[i + lane];
  }
  for (size_t i = whole; i < terms.size(); ++i) lanes[i - whole] += terms[i];
  for (const float lane : lanes) total += lane;
}

float largest(std::span<const float> values) {
  float lanes[kLanes];
  std::fill(std::begin(lanes), std::end(lanes), values.front());
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
    }
  }
  float most = *std::max_element(std::begin(lanes), std::end(lanes));
  for (; i < values.size(); ++i) most = std::max(most, values[i]);
  return most;
}

}  // namespace

VocabRow::VocabRow(std::span<const float> logits) : logits_(logits) {
  const float most = largest(logits);
  double sum = 0, weighted = 0;
  float shares[kBlock], terms[kBlock];
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t count = std::min(logits.size() - begin, kBlock);
    const float* x = logits.data() + begin;
    // Two loops: compilers make SIMD instructions of each, but not of both in one.
    for (size_t i = 0; i < count; ++i) {
      const float below = x[i] - most;
      terms[i] = below > kNothing ? below : kNothing;
    }
    for (size_t i = 0; i < count; ++i) {
      shares[i] = fast_exp(terms[i]);
      terms[i] *= shares[i];
    }
    add_block(sum, {shares, count});
    add_block(weighted, {terms, count});
  }
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
  double sum = 0;
  float terms[kBlock];
  for (size_t begin = 0; begin < probabilities.size(); begin += kBlock) {
    const size_t count = std::min(probabilities.size() - begin, kBlock);
    const float *weight = &probabilities[begin], *a = &p.logits()[begin], *b = &q.logits()[begin];
    for (size_t i = 0; i < count; ++i) terms[i] = weight[i] * (a[i] - b[i]);
    for (size_t i = 0; i < count; ++i) terms[i] = weight[i] > 0 ? terms[i] : 0.f;
    add_block(sum, {terms, count});
  }
  return std::max(sum + q.log_sum() - p.log_sum(), 0.0);
}

double kl_divergence(const VocabRow& p, const VocabRow& q) {
  std::vector<float> probabilities(p.logits().size());
  p.write_probabilities(probabilities);
  return kl_divergence(p, probabilities, q);
}

}  // namespace wick
