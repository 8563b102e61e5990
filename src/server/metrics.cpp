#include "server/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

bool is_name(std::string_view text, bool colons) {
  const auto allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
  };
  return !text.empty() && allowed(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return allowed(c) || (c >= '0' && c <= '9'); });
}

// Backslashes and line ends; in label values quotes, too.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || (c == '"' && quotes)) {
      out += {'\\', c};
    } else {
      out += c;
    }
  }
}

std::string label_text(std::string_view metric, const MetricLabels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    if (!is_name(name, false) || name == "le" || !is_utf8(value)) {
      throw Error(ErrorCode::kInvalidArgument, cat("metric ", metric, ": label ", in_quotes(name), " is not allowed"));
    }
    if (!out.empty()) out += ',';
    out += cat(name, "=\"");
    append_escaped(out, value, true);
    out += '"';
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return cat(value);
}

void append_sample(std::string& out, std::string_view name, std::string_view labels, std::string_view value) {
  out += name;
  if (!labels.empty()) out += cat("{", labels, "}");
  out += cat(" ", value, "\n");
}

void append_histogram(std::string& out, std::string_view name, const std::string& labels, const Histogram& histogram) {
  const std::vector<uint64_t> counts = histogram.counts();
  const std::string before = labels.empty() ? labels : cat(labels, ",");
  uint64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const std::string bound = i < histogram.bounds().size() ? number(histogram.bounds()[i]) : "+Inf";
    append_sample(out, cat(name, "_bucket"), cat(before, "le=\"", bound, "\""), cat(total));
  }
  append_sample(out, cat(name, "_sum"), labels, number(histogram.sum()));
  append_sample(out, cat(name, "_count"), labels, cat(total));
}

template <typename Metric, typename... Args>
Metric& get_or_make(std::map<std::string, std::unique_ptr<Metric>>& all, std::string labels, const Args&... args) {
  auto found = all.find(labels);
  if (found == all.end()) found = all.emplace(std::move(labels), std::make_unique<Metric>(args...)).first;
  return *found->second;
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)) {
  if (!std::is_sorted(bounds_.begin(), bounds_.end(), std::less_equal<>())) {
    throw Error(ErrorCode::kInvalidArgument, "the bounds of a histogram must rise");
  }
  counts_ = std::make_unique<std::atomic<uint64_t>[]>(bounds_.size() + 1);
}

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<uint64_t> Histogram::counts() const {
  std::vector<uint64_t> counts(bounds_.size() + 1);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

std::vector<double> second_buckets() {
  return {0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
}

Metrics::Family& Metrics::family(std::string_view name, std::string_view help, Kind kind) {
  auto found = families_.find(name);
  if (found == families_.end()) {
    if (!is_name(name, true)) {
      throw Error(ErrorCode::kInvalidArgument, cat("metric name ", in_quotes(name), " is not allowed"));
    }
    found = families_.emplace(std::string(name), Family{kind, std::string(help), {}, {}, {}}).first;
  }
  if (found->second.kind != kind) {
    throw Error(ErrorCode::kInvalidArgument, cat("metric ", name, " is of another kind already"));
  }
  return found->second;
}

Counter& Metrics::counter(std::string_view name, std::string_view help, const MetricLabels& labels) {
  std::string text = label_text(name, labels);
  const std::lock_guard lock(mutex_);
  return get_or_make(family(name, help, Kind::kCounter).counters, std::move(text));
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, const MetricLabels& labels) {
  std::string text = label_text(name, labels);
  const std::lock_guard lock(mutex_);
  return get_or_make(family(name, help, Kind::kGauge).gauges, std::move(text));
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                              const MetricLabels& labels) {
  std::string text = label_text(name, labels);
  const std::lock_guard lock(mutex_);
  return get_or_make(family(name, help, Kind::kHistogram).histograms, std::move(text), bounds);
}

void Metrics::before_text(std::function<void()> callback) {
  const std::lock_guard lock(callbacks_mutex_);
  callbacks_.push_back(std::move(callback));
}

std::string Metrics::text() const {
  static constexpr std::string_view kKinds[] = {"counter", "gauge", "histogram"};
  {
    const std::lock_guard lock(callbacks_mutex_);
    for (const auto& callback : callbacks_) callback();
  }
  std::string out;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) {
    out += cat("# HELP ", name, " ");
    append_escaped(out, family.help, false);
    out += cat("\n# TYPE ", name, " ", kKinds[static_cast<size_t>(family.kind)], "\n");
    for (const auto& [labels, one] : family.counters) append_sample(out, name, labels, number(one->value()));
    for (const auto& [labels, one] : family.gauges) append_sample(out, name, labels, number(one->value()));
    for (const auto& [labels, one] : family.histograms) append_histogram(out, name, labels, *one);
  }
  return out;
}

}  // namespace wick
