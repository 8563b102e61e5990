#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interp/interp_model.h"

namespace wick {

// One number for a model's answer at one position, by which an intervention is judged.
struct Metric {
  enum class Kind : uint8_t {
    kLogit,            // of `token`
    kLogitDifference,  // of `token` and `other`
    kProbability,      // of `token`
    kLogProbability,   // of `token`
    kKl,               // from the answer of the first (clean) run to this one, in nats
  };

  Kind kind = Kind::kLogitDifference;
  int32_t token = 0, other = 0;
  int64_t position = -1;  // of the answer; below zero: from the end

  static Metric logit(int32_t token) { return {Kind::kLogit, token}; }
  static Metric logit_difference(int32_t token, int32_t other) { return {Kind::kLogitDifference, token, other}; }
  static Metric probability(int32_t token) { return {Kind::kProbability, token}; }
  static Metric log_probability(int32_t token) { return {Kind::kLogProbability, token}; }
  static Metric kl() { return {Kind::kKl}; }
};

// `clean`: the logits of the run that kKl compares with; for other kinds it may be empty.
double measure(const Metric& metric, std::span<const float> logits, std::span<const float> clean);

// Throws Error(kInvalidArgument) for tokens outside the vocabulary.
void check_metric(const InterpModel& model, const Metric& metric);
// The tokens up to the metric's position: what comes behind it cannot change it.
std::span<const int32_t> up_to_metric(std::span<const int32_t> tokens, const Metric& metric);

}  // namespace wick
