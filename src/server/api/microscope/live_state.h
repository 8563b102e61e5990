#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/api/field_kinds.h"
#include "server/http/exchange.h"
#include "server/model_host.h"

namespace wick {

// How an engine stands, as /v1/engine tells it.
OrderedJson snapshot_json(std::string_view model, const EngineSnapshot& snapshot);

// Sends that to everybody who watches, a few times a second, from one thread that sleeps when nobody does. Thread-safe.
class LiveState {
 public:
  explicit LiveState(std::shared_ptr<ModelHost> host);
  ~LiveState();
  LiveState(const LiveState&) = delete;
  LiveState& operator=(const LiveState&) = delete;

  // Until the client goes. While the model is not loaded, {"model": ..., "state": "loading"} is sent.
  void watch(std::string model, std::shared_ptr<HttpExchange> exchange);
  void stop();  // ends all streams

 private:
  struct Watcher {
    std::string model;
    std::shared_ptr<HttpExchange> exchange;
    bool has_begun = false;
  };
  void run();
  std::string event_of(const std::string& model) const;

  std::shared_ptr<ModelHost> host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watcher> watchers_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace wick
