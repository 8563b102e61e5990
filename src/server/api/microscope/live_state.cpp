#include "server/api/microscope/live_state.h"

#include <algorithm>
#include <chrono>

#include "server/api/engine_counters.h"
#include "server/api/generation/answer_writer.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

constexpr std::chrono::milliseconds kPause{200};
constexpr size_t kMostWatchers = 64;

enum BlockState { kFree, kCachedOnly, kUsed, kShared };

// [[state, count], ...] over the blocks by id.
OrderedJson block_runs(const EngineSnapshot& snapshot) {
  OrderedJson runs = OrderedJson::array();
  int last = -1;
  int64_t count = 0;
  for (size_t i = 0; i < snapshot.block_uses.size(); ++i) {
    const bool cached = i < snapshot.block_is_cached.size() && snapshot.block_is_cached[i];
    // The cache is one of a block's users.
    const int sequences = snapshot.block_uses[i] - (cached ? 1 : 0);
    const int state = sequences > 1 ? kShared : sequences == 1 ? kUsed : cached ? kCachedOnly : kFree;
    if (state != last && count > 0) runs.push_back({last, std::exchange(count, 0)});
    last = state;
    ++count;
  }
  if (count > 0) runs.push_back({last, count});
  return runs;
}

}  // namespace

OrderedJson snapshot_json(std::string_view model, const EngineSnapshot& snapshot) {
  OrderedJson sequences = OrderedJson::array();
  for (const SequenceView& sequence : snapshot.sequences) {
    sequences.push_back({{"request", sequence.request},
                         {"choice", sequence.index},
                         {"phase", to_string(sequence.phase)},
                         {"priority", to_string(sequence.priority)},
                         {"prompt", sequence.prompt_tokens},
                         {"computed", sequence.computed_tokens},
                         {"generated", sequence.generated_tokens},
                         {"age", sequence.age_seconds},
                         {"blocks", sequence.blocks}});
  }
  OrderedJson counters = OrderedJson::object();
  visit_counters(snapshot.counters, [&](std::string_view name, auto value) { counters[std::string(name)] = value; });
  return {{"model", model},
          {"waiting", snapshot.waiting},
          {"running", snapshot.running},
          {"paused", snapshot.paused},
          {"context", snapshot.context},
          {"block_tokens", snapshot.block_tokens},
          {"blocks",
           {{"total", snapshot.blocks_total},
            {"free", snapshot.blocks_free},
            {"cached", snapshot.blocks_cached},
            {"runs", block_runs(snapshot)}}},
          {"pressure", snapshot.pressure},
          {"budget", snapshot.token_budget},
          {"batch",
           {{"prefill", snapshot.last_prefill_tokens},
            {"decode", snapshot.last_decode_tokens},
            {"seconds", snapshot.last_seconds}}},
          {"sequences", std::move(sequences)},
          {"counters", std::move(counters)}};
}

LiveState::LiveState(std::shared_ptr<ModelHost> host) : host_(std::move(host)), thread_([this] { run(); }) {}

LiveState::~LiveState() {
  stop();
  thread_.join();
}

void LiveState::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

void LiveState::watch(std::string model, std::shared_ptr<HttpExchange> exchange) {
  std::unique_lock lock(mutex_);
  if (stopped_ || watchers_.size() >= kMostWatchers) {
    lock.unlock();
    HttpResponse refusal;
    refusal.status = 503;
    refusal.body = to_text({{"error",
                             {{"message", "There are too many watchers, or the server is shutting down."},
                              {"type", "overloaded_error"},
                              {"param", nullptr},
                              {"code", nullptr}}}});
    exchange->send(std::move(refusal));
    return;
  }
  watchers_.push_back({std::move(model), std::move(exchange)});
  lock.unlock();
  changed_.notify_all();
}

std::string LiveState::event_of(const std::string& model) const {
  if (const ModelHost::EngineRef engine = host_->loaded(model)) {
    return cat("data: ", to_text(snapshot_json(model, engine->snapshot())), "\n\n");
  }
  OrderedJson state = {{"model", model}};
  for (const ModelStatus& status : host_->list()) {
    if (status.name != model) continue;
    state["state"] = to_string(status.state);
    if (status.state == ModelState::kLoading) state["progress"] = status.progress;
  }
  return cat("data: ", to_text(state), "\n\n");
}

void LiveState::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (watchers_.empty()) {
      changed_.wait(lock, [this] { return stopped_ || !watchers_.empty(); });
      continue;
    }
    std::vector<Watcher> watchers = watchers_;  // written to without the lock
    lock.unlock();
    for (Watcher& watcher : watchers) {
      if (watcher.exchange->is_closed()) continue;
      std::string event = event_of(watcher.model);
      if (watcher.has_begun) {
        watcher.exchange->write(std::move(event));
      } else {
        HttpResponse head = event_stream_head();
        head.body = std::move(event);
        watcher.exchange->begin(std::move(head));
      }
    }
    lock.lock();
    for (size_t i = 0; i < watchers.size(); ++i) watchers_[i].has_begun = true;  // new ones are behind them
    std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.exchange->is_closed(); });
    changed_.wait_for(lock, kPause, [this] { return stopped_; });
  }
  for (Watcher& watcher : watchers_) {
    if (watcher.has_begun) watcher.exchange->finish();
  }
  watchers_.clear();
}

}  // namespace wick
