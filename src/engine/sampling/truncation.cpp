#include "engine/sampling/truncation.h"

#include <algorithm>
#include <cmath>

namespace wick::sampling {
namespace {

// 32 buckets for each factor of e; the last holds the rest.
size_t bucket_of(float distance) { return distance < 31.0f ? static_cast<size_t>(distance * 32.0f) : 31 * 32; }

bool limits_top_k(const SamplingParams& params, size_t vocabulary) {
  return params.top_k > 0 && static_cast<uint64_t>(params.top_k) < vocabulary;
}

}  // namespace

bool Truncation::is_needed(const SamplingParams& params) {
  return params.top_k > 0 || params.typical_p < 1 || params.top_p < 1 || params.min_p > 0 || params.xtc_probability > 0;
}

void Truncation::apply(const SamplingParams& params, const PeakedLogits& logits, double xtc_uniform,
                       Candidates& candidates) {
  if (limits_top_k(params, logits.logits.size())) {
    candidates.collect_top(logits, static_cast<size_t>(params.top_k));
    return narrow(params, xtc_uniform, candidates);
  }
  if (params.typical_p < 1) {
    candidates.collect(logits);
    return narrow(params, xtc_uniform, candidates);
  }
  if (params.top_p < 1) {
    collect_for_top_p(params.top_p, logits, candidates);
  } else {  // nothing that min-p would leave out anyway
    candidates.collect(logits, params.min_p > 0 ? logits.most + std::log(params.min_p) : kForbidden);
  }
  finish(params, xtc_uniform, candidates);
}

void Truncation::narrow(const SamplingParams& params, double xtc_uniform, Candidates& candidates) {
  if (params.typical_p < 1) keep_typical(params.typical_p, candidates);
  if (params.top_p < 1) keep_top_p(params.top_p, {}, candidates);
  finish(params, xtc_uniform, candidates);
}

void Truncation::finish(const SamplingParams& params, double xtc_uniform, Candidates& candidates) {
  if (params.min_p > 0) keep_min_p(params.min_p, candidates);
  if (xtc_uniform < static_cast<double>(params.xtc_probability)) exclude_top_choices(params.xtc_threshold, candidates);
}

// Most tokens are so unlikely that they cannot be among the first p: those are not even collected.
void Truncation::collect_for_top_p(float p, const PeakedLogits& logits, Candidates& candidates) {
  constexpr float kNear = 12;
  const double total = make_weights(logits.logits, logits.most, 1, weights_).total;
  candidates.collect(logits, logits.most - kNear);
  const double near = make_weights(candidates.logits(), logits.most, 1, weights_).total;
  if (near < static_cast<double>(p) * total * 1.000001) candidates.collect(logits);
  keep_top_p(p, total, candidates);
}

void Truncation::keep_top_p(float p, std::optional<double> total, Candidates& candidates) {
  const std::span<const float> logits = candidates.logits();
  const float most = candidates.most();
  const Weights weights = make_weights(logits, most, 1, weights_);
  const std::span<float> distances = at_least(distances_, logits.size());
  const std::span<uint32_t> ranks = at_least(ranks_, logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    distances[i] = most - logits[i];
    ranks[i] = descending(logits[i]);
  }
  keep_first(weights.weights, static_cast<double>(p) * total.value_or(weights.total), candidates);
}

void Truncation::keep_typical(float p, Candidates& candidates) {
  const std::span<const float> logits = candidates.logits();
  const float most = candidates.most();
  const Weights weights = make_weights(logits, most, 1, weights_);
  // With d = logit - most, log p = d - log(total): a surprise less the expected one is E[d] - d.
  double expected = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto weight = static_cast<double>(weights.weights[i]);
    if (weight > 0) expected += weight * static_cast<double>(logits[i] - most);
  }
  expected /= weights.total;
  const std::span<float> distances = at_least(distances_, logits.size());
  const std::span<uint32_t> ranks = at_least(ranks_, logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    distances[i] = static_cast<float>(std::abs(expected - static_cast<double>(logits[i] - most)));
    ranks[i] = std::bit_cast<uint32_t>(distances[i]);  // of numbers that are not negative, the bits have their order
  }
  keep_first(weights.weights, static_cast<double>(p) * weights.total, candidates);
}

// Keeps the candidates of the lowest ranks whose weights first add up to `mass`, of equal ranks the first. Only the
// bucket in which that happens is sorted.
void Truncation::keep_first(std::span<const float> weights, double mass, Candidates& candidates) {
  buckets_.fill(0);
  for (size_t i = 0; i < candidates.size(); ++i) {
    buckets_[bucket_of(distances_[i])] += static_cast<double>(weights[i]);
  }
  double sum = 0;
  size_t crossing = 0;
  while (crossing < kBuckets && (buckets_[crossing] == 0 || sum + buckets_[crossing] < mass)) {
    sum += buckets_[crossing++];
  }
  if (crossing == kBuckets) return;  // everything, or so nearly that rounding decides
  crossing_.clear();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (bucket_of(distances_[i]) == crossing) crossing_.push_back(order_key(ranks_[i], i));
  }
  std::sort(crossing_.begin(), crossing_.end());
  uint64_t cut = crossing_.back();
  for (const uint64_t key : crossing_) {
    sum += static_cast<double>(weights[key & 0xFFFFFFFFu]);
    if (sum < mass) continue;
    cut = key;
    break;
  }
  candidates.filter([&](size_t i) { return order_key(ranks_[i], i) <= cut; });
}

void Truncation::keep_min_p(float p, Candidates& candidates) {
  const std::span<const float> logits = candidates.logits();
  const float least = candidates.most() + std::log(p);
  candidates.filter([&](size_t i) { return logits[i] >= least; });
}

void Truncation::exclude_top_choices(float threshold, Candidates& candidates) {
  const std::span<const float> logits = candidates.logits();
  const Weights weights = make_weights(logits, candidates.most(), 1, weights_);
  const auto least = static_cast<double>(threshold) * weights.total;
  uint64_t last = 0;  // the key of the least likely one
  for (size_t i = 0; i < logits.size(); ++i) {
    if (static_cast<double>(weights.weights[i]) >= least) last = std::max(last, order_key(descending(logits[i]), i));
  }
  if (last == 0) return;
  candidates.filter([&](size_t i) { return order_key(descending(logits[i]), i) >= last; });
}

}  // namespace wick::sampling
