#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "server/metrics.h"
#include "server/model_host.h"

namespace wick {

// What the server measures of the answers: how long the first token took and each one after it; and how the engines of
// its models stand when somebody asks. Thread-safe.
class ApiMetrics {
 public:
  ApiMetrics(std::shared_ptr<Metrics> metrics, std::shared_ptr<ModelHost> host);

  struct Latency {
    Histogram *first_token, *next_token;  // seconds
  };
  Latency latency(const std::string& model);
  // To be called before the metrics are shown.
  void look_at_engines();

 private:
  void look_at(const std::string& model, const EngineSnapshot& now);

  std::shared_ptr<Metrics> metrics_;
  std::shared_ptr<ModelHost> host_;
  std::mutex mutex_;
  std::unordered_map<std::string, EngineCounters> seen_;  // per model, when it was last looked at
};

}  // namespace wick
