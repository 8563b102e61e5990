#include "interp/ablation.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "interp/hook_part.h"
#include "interp/run_with_cache.h"
#include "interp/sweep.h"
#include "tensor/create.h"

namespace wick {
namespace {

// The mean over the first dimension of all, in f64, as [1, ...].
Tensor mean_rows(std::span<const Tensor> parts) {
  std::vector<double> sums(static_cast<size_t>(parts.front().numel() / parts.front().dim(0)));
  int64_t count = 0;
  for (const Tensor& part : parts) {
    const std::vector<float> values = part.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += values[i];
    count += part.dim(0);
  }
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return from_vector(mean, parts.front().shape().with(0, 1));
}

}  // namespace

std::string_view to_string(Ablation ablation) {
  constexpr std::string_view kNames[] = {"zero", "mean", "resample"};
  return kNames[static_cast<size_t>(ablation)];
}

AblationValues::AblationValues(const InterpModel& model, HookPoint point, Ablation ablation,
                               std::span<const std::vector<int32_t>> texts, size_t sample)
    : point_(point), ablation_(ablation) {
  const bool is_map = point == HookPoint::kAttnScores || point == HookPoint::kAttnPattern;
  if (!is_per_layer(point) || point == HookPoint::kState || (is_map && ablation != Ablation::kZero)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("'", hook_name(point, HookSite::kEveryLayer), "' cannot be ablated by ", to_string(ablation)));
  }
  if (texts.empty() && ablation != Ablation::kZero) {
    throw Error(ErrorCode::kInvalidArgument, cat("ablation by ", to_string(ablation), " needs reference texts"));
  }
  // Which layers have the point is seen from a run, for zeros of one token.
  const std::vector<int32_t> one_token = {0};
  std::vector<InterpText> runs;
  for (const std::vector<int32_t>& text : texts) runs.push_back({text});
  if (ablation == Ablation::kZero) runs = {{one_token}};
  if (ablation == Ablation::kResample) runs = {runs[sample % runs.size()]};
  CaptureOptions options;
  options.points = {hook_name(point, HookSite::kEveryLayer)};
  options.logits = LogitRows::kNone;
  const ActivationCache cache = run_with_cache(model, runs, options).cache;
  for (int layer = 0; layer < model.facts().layers; ++layer) {
    const std::string name = hook_name(point, layer);
    heads_.push_back(cache.has(name) ? head_count(point, cache.at(name)) : 0);
    values_.emplace_back();
    if (!cache.has(name) || ablation == Ablation::kZero) continue;
    std::vector<Tensor> parts;
    for (size_t text = 0; text < runs.size(); ++text) parts.push_back(cache.at(name, text));
    values_.back() = ablation == Ablation::kMean ? mean_rows(parts) : parts.front();
  }
}

HookSpec& AblationValues::ablate(HookSpec& spec, int layer, HookPart part, size_t tokens) const {
  const std::string name = hook_name(point_, layer);
  const bool present = layer >= 0 && layer < static_cast<int>(heads_.size()) && heads_[static_cast<size_t>(layer)] > 0;
  if (!present) throw Error(ErrorCode::kInvalidArgument, cat("the model has no '", name, "'"));
  part.positions = check_positions(part.positions, tokens);
  if (ablation_ == Ablation::kZero) return spec.zero(name, std::move(part));
  const Tensor& values = values_[static_cast<size_t>(layer)];
  HookPart source = part;
  for (int64_t& position : source.positions) position = std::min(position, values.dim(0) - 1);
  const Tensor value = part_of(point_, values, source);
  return spec.replace(name, value, std::move(part));
}

SweepMap ablation_sweep(const InterpModel& model, std::span<const int32_t> tokens, const AblationValues& values,
                        const SweepCells& cells, const Metric& metric) {
  check_metric(model, metric);
  tokens = up_to_metric(tokens, metric);
  SweepPlan plan(model, values.point(), cells, values.heads(), tokens.size());
  const std::vector<float> plain = last_logits(model, tokens);
  plan.map().clean = plan.map().corrupted = measure(metric, plain, plain);
  const auto spec_of = [&](int64_t cell) {
    HookSpec spec;
    return values.ablate(spec, plan.layer(cell), plan.part(cell), tokens.size());
  };
  plan.map().values = sweep(model, tokens, plan.size(), spec_of, metric, plain, cells.progress);
  return std::move(plan.map());
}

}  // namespace wick
