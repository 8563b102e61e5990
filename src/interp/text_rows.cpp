#include "interp/text_rows.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "interp/run_with_cache.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr size_t kTexts = 64;  // whose captures are held at a time

// The mean of rows [count, ...] as one row.
std::vector<float> mean_row(const Tensor& rows) {
  const std::vector<float> values = rows.to_vector<float>();
  std::vector<double> sums(values.size() / static_cast<size_t>(rows.dim(0)));
  for (size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += values[i];
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(rows.dim(0))));
  return mean;
}

}  // namespace

Tensor text_rows(const InterpModel& model, std::span<const std::vector<int32_t>> texts, std::string_view point,
                 TextRow row) {
  const HookSite site = HookSite::parse(point);
  const bool is_map = site.point == HookPoint::kAttnScores || site.point == HookPoint::kAttnPattern;
  if (is_map || site.point == HookPoint::kLogits || site.point == HookPoint::kState ||
      (is_per_layer(site.point) && site.layer == HookSite::kEveryLayer)) {
    throw Error(ErrorCode::kInvalidArgument, cat("'", point, "' does not give one row per token of one layer"));
  }
  if (texts.empty()) throw Error(ErrorCode::kInvalidArgument, cat("there are no texts to look at '", point, "' in"));
  CaptureOptions capture;
  capture.points = {std::string(point)};
  capture.logits = LogitRows::kNone;
  if (row == TextRow::kLast) capture.positions = {-1};
  std::vector<float> all;
  for (size_t begin = 0; begin < texts.size(); begin += kTexts) {
    std::vector<InterpText> some;
    for (size_t i = begin; i < std::min(begin + kTexts, texts.size()); ++i) some.push_back({texts[i]});
    const ActivationCache cache = run_with_cache(model, some, capture).cache;
    for (size_t i = 0; i < some.size(); ++i) {
      const std::vector<float> values = mean_row(cache.at(point, i));
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  const auto count = static_cast<int64_t>(texts.size());
  return from_vector(all, {count, static_cast<int64_t>(all.size()) / count});
}

}  // namespace wick
