#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;  // {{"route", "/health"}, {"status", "200"}}

class Counter {
 public:
  void add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }  // never below 0
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  // Upper bounds of the buckets, rising; one without a bound follows them.
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);

  const std::vector<double>& bounds() const { return bounds_; }
  std::vector<uint64_t> counts() const;  // per bucket, not summed up; one more than bounds
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

// From a quarter of a millisecond to two minutes.
std::vector<double> second_buckets();

// Numbers about the running server, in Prometheus' text format. Thread-safe. References stay valid as long as the
// Metrics; keep them where updates are frequent. The same name and labels give the same object. Throws
// Error(kInvalidArgument) for a name that is not allowed or is of another kind already.
class Metrics {
 public:
  Counter& counter(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                       const MetricLabels& labels = {});

  // Called at the start of text(): the moment to set gauges that are looked up rather than counted.
  void before_text(std::function<void()> callback);

  // Served as kContentType.
  std::string text() const;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  enum class Kind : uint8_t { kCounter, kGauge, kHistogram };
  struct Family {
    Kind kind = Kind::kCounter;
    std::string help;
    // By their labels as they are printed: route="/health",status="200"
    std::map<std::string, std::unique_ptr<Counter>> counters;
    std::map<std::string, std::unique_ptr<Gauge>> gauges;
    std::map<std::string, std::unique_ptr<Histogram>> histograms;
  };
  Family& family(std::string_view name, std::string_view help, Kind kind);  // with the lock held

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
  mutable std::mutex callbacks_mutex_;
  std::vector<std::function<void()>> callbacks_;
};

}  // namespace wick
