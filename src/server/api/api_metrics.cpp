#include "server/api/api_metrics.h"

#include <vector>

#include "base/text.h"
#include "server/api/engine_counters.h"

namespace wick {

ApiMetrics::ApiMetrics(std::shared_ptr<Metrics> metrics, std::shared_ptr<ModelHost> host)
    : metrics_(std::move(metrics)), host_(std::move(host)) {}

ApiMetrics::Latency ApiMetrics::latency(const std::string& model) {
  const MetricLabels labels = {{"model", model}};
  return {
      &metrics_->histogram("wick_first_token_seconds", "From a request to its first token.", second_buckets(), labels),
      &metrics_->histogram("wick_next_token_seconds", "From one token of an answer to the next.", second_buckets(),
                           labels)};
}

void ApiMetrics::look_at_engines() {
  for (const ModelStatus& status : host_->list()) {
    metrics_->gauge("wick_model_ready", "1: the model is loaded.", {{"model", status.name}})
        .set(status.state == ModelState::kReady ? 1 : 0);
    if (const ModelHost::EngineRef engine = host_->loaded(status.name)) look_at(status.name, engine->snapshot());
  }
}

void ApiMetrics::look_at(const std::string& model, const EngineSnapshot& now) {
  const MetricLabels labels = {{"model", model}};
  const auto set = [&](std::string_view name, std::string_view help, double value) {
    metrics_->gauge(name, help, labels).set(value);
  };
  set("wick_requests_waiting", "Requests in the queue.", static_cast<double>(now.waiting));
  set("wick_sequences_running", "Sequences being computed.", static_cast<double>(now.running));
  set("wick_sequences_paused", "Preempted sequences, which wait for room.", static_cast<double>(now.paused));
  set("wick_kv_blocks", "Blocks of keys and values.", static_cast<double>(now.blocks_total));
  set("wick_kv_blocks_free", "Blocks that nobody uses.", static_cast<double>(now.blocks_free));
  set("wick_kv_blocks_cached", "Blocks that only the prefix cache holds.", static_cast<double>(now.blocks_cached));
  set("wick_kv_pressure", "Part of the blocks that running sequences hold.", now.pressure);
  const double asked = static_cast<double>(now.counters.prompt_tokens);
  set("wick_prefix_hit_rate", "Part of all prompts' tokens that the prefix cache knew.",
      asked > 0 ? static_cast<double>(now.counters.reused_tokens) / asked : 0);

  const std::lock_guard lock(mutex_);
  EngineCounters& seen = seen_[model];
  std::vector<double> before;
  visit_counters(seen, [&](std::string_view, auto value) { before.push_back(static_cast<double>(value)); });
  size_t i = 0;
  visit_counters(now.counters, [&](std::string_view name, auto value) {
    const double current = static_cast<double>(value), last = before[i++];
    // A model that was loaded again counts from zero.
    metrics_->counter(cat("wick_engine_", name, "_total"), cat("Of the engine: ", name, "."), labels)
        .add(current >= last ? current - last : current);
  });
  seen = now.counters;
}

}  // namespace wick
