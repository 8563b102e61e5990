#include "interp/text_rows.h"

#include "base/error.h"
#include "base/text.h"
#include "interp/run_with_cache.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr size_t kTexts = 16;  // between two reports of progress

void check_point(const std::string& point) {
  const HookSite site = HookSite::parse(point);
  const bool is_map = site.point == HookPoint::kAttnScores || site.point == HookPoint::kAttnPattern;
  if (is_map || site.point == HookPoint::kLogits || site.point == HookPoint::kState ||
      (is_per_layer(site.point) && site.layer == HookSite::kEveryLayer)) {
    throw Error(ErrorCode::kInvalidArgument, cat("'", point, "' does not give one row per token of one layer"));
  }
}

// The last of rows [count, ...], or their mean.
std::vector<float> one_row(const Tensor& rows, TextRow row) {
  const int64_t count = rows.dim(0);
  if (row == TextRow::kLast) return rows.with_layout(rows.layout().narrow(0, count - 1, 1)).to_vector<float>();
  const std::vector<float> values = rows.to_vector<float>();
  std::vector<double> sums(values.size() / static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += values[i];
  std::vector<float> mean;
  mean.reserve(sums.size());
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return mean;
}

}  // namespace

std::string to_string(TextRow row) { return row == TextRow::kMean ? "mean" : "last"; }

std::optional<TextRow> text_row_named(std::string_view name) {
  for (const TextRow row : {TextRow::kLast, TextRow::kMean}) {
    if (name == to_string(row)) return row;
  }
  return {};
}

std::vector<Tensor> text_rows(const InterpModel& model, std::span<const std::vector<int32_t>> texts,
                              std::span<const std::string> points, TextRow row, const SweepProgress& progress) {
  for (const std::string& point : points) check_point(point);
  if (texts.empty()) {
    throw Error(ErrorCode::kInvalidArgument, cat("there are no texts to look at '", points.front(), "' in"));
  }
  std::vector<std::vector<float>> found(points.size());
  for (size_t begin = 0; begin < texts.size(); begin += kTexts) {
    if (progress) progress(static_cast<int64_t>(begin), std::ssize(texts));
    const size_t end = std::min(begin + kTexts, texts.size());
    std::vector<HookSpec> specs(end - begin);
    std::vector<InterpText> some;
    std::vector<std::vector<float>> rows(points.size() * specs.size());  // text by text
    for (size_t i = 0; i < specs.size(); ++i) {
      for (size_t point = 0; point < points.size(); ++point) {
        std::vector<float>& mine = rows[i * points.size() + point];
        specs[i].call(points[point], [&mine, row](const Tensor& values, const HookMoment&) {
          mine = one_row(values, row);
          return values;
        });
      }
      some.push_back({texts[begin + i], &specs[i]});
    }
    model.forward(some, LogitRows::kNone, [](size_t, const Tensor&) {});
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t point = i % points.size();
      if (rows[i].empty()) {
        throw Error(ErrorCode::kInvalidArgument, cat("this ", model.facts().family, " has no '", points[point], "'"));
      }
      found[point].insert(found[point].end(), rows[i].begin(), rows[i].end());
    }
  }
  std::vector<Tensor> result;
  result.reserve(found.size());
  const auto count = std::ssize(texts);
  for (const std::vector<float>& all : found) result.push_back(from_vector(all, {count, std::ssize(all) / count}));
  return result;
}

Tensor text_rows(const InterpModel& model, std::span<const std::vector<int32_t>> texts, const std::string& point,
                 TextRow row) {
  return text_rows(model, texts, std::span(&point, 1), row).front();
}

Tensor token_rows(const InterpModel& model, std::span<const int32_t> tokens, const std::string& point,
                  const HookSpec& hooks) {
  check_point(point);
  CaptureOptions capture;
  capture.points = {point};
  capture.logits = LogitRows::kNone;
  const InterpText text{tokens, &hooks};
  const Tensor rows = run_with_cache(model, std::span(&text, 1), capture).cache.at(point);
  return reshape(rows, {rows.dim(0), -1});
}

}  // namespace wick
