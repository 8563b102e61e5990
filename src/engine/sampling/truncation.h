#pragma once

#include <array>
#include <optional>
#include <vector>

#include "engine/sampling/candidates.h"
#include "engine/sampling/sampling_params.h"

namespace wick::sampling {

// The ways of leaving out tokens, each as published; at least one token always stays.
class Truncation {
 public:
  // From all tokens to those that the parameters leave, in their order: top-k, typical, top-p, min-p and, if
  // `xtc_uniform` is below xtc_probability, XTC.
  void apply(const SamplingParams& params, const PeakedLogits& logits, double xtc_uniform, Candidates& candidates);
  // Whether apply() could leave out anything.
  static bool is_needed(const SamplingParams& params);

  // Keeps the candidates whose surprise is closest to the expected one and whose probabilities first add up to p.
  void keep_typical(float p, Candidates& candidates);
  // Keeps the most likely candidates whose weights relative to `total`, e.g. the sum of all tokens' weights when not
  // all are candidates, first add up to p.
  void keep_top_p(float p, std::optional<double> total, Candidates& candidates);
  // Keeps those at least p times as likely as the most likely one.
  static void keep_min_p(float p, Candidates& candidates);
  // If two or more are at least as likely as the threshold, all of those but the least likely one go.
  void exclude_top_choices(float threshold, Candidates& candidates);

 private:
  static constexpr size_t kBuckets = 1024;

  void narrow(const SamplingParams& params, double xtc_uniform, Candidates& candidates);
  void collect_for_top_p(float p, const PeakedLogits& logits, Candidates& candidates);
  void finish(const SamplingParams& params, double xtc_uniform, Candidates& candidates);
  void keep_first(std::span<const float> weights, double mass, Candidates& candidates);

  WeightMemory weights_;
  std::array<double, kBuckets> buckets_{};
  std::vector<float> distances_;    // how late a candidate comes, 0 or more
  std::vector<uint32_t> ranks_;     // the same order, exactly
  std::vector<uint64_t> crossing_;  // keys of the bucket in which the mass is reached
};

}  // namespace wick::sampling
