#include "interp/metric.h"

#include "base/error.h"
#include "base/text.h"
#include "interp/probes/vocab_row.h"

namespace wick {

double measure(const Metric& metric, std::span<const float> logits, std::span<const float> clean) {
  const auto logit = [&](int32_t token) { return static_cast<double>(logits[static_cast<size_t>(token)]); };
  switch (metric.kind) {
    case Metric::Kind::kLogit: return logit(metric.token);
    case Metric::Kind::kLogitDifference: return logit(metric.token) - logit(metric.other);
    case Metric::Kind::kProbability: return VocabRow(logits).probability(metric.token);
    case Metric::Kind::kLogProbability: return VocabRow(logits).log_probability(metric.token);
    case Metric::Kind::kKl: break;
  }
  if (clean.size() != logits.size()) {
    throw Error(ErrorCode::kInvalidArgument, "the metric compares with a clean run, and there is none");
  }
  return kl_divergence(VocabRow(clean), VocabRow(logits));
}

void check_metric(const InterpModel& model, const Metric& metric) {
  if (metric.kind == Metric::Kind::kKl) return;
  check_token(model, metric.token);
  if (metric.kind == Metric::Kind::kLogitDifference) check_token(model, metric.other);
}

std::span<const int32_t> up_to_metric(std::span<const int32_t> tokens, const Metric& metric) {
  return tokens.first(static_cast<size_t>(check_position(metric.position, tokens.size())) + 1);
}

}  // namespace wick
