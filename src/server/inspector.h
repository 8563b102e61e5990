#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/text_engine.h"
#include "interp/language_interp.h"
#include "server/capture_store.h"
#include "server/steering_shelf.h"

namespace wick {

struct InspectOptions {
  std::filesystem::path steering;  // a folder of steering vectors; empty: none
  int threads = 2;
  int64_t max_waiting = 16;
  CaptureStore::Limits captures;
};

// What a server needs to let clients look into its models: captures that wait to be fetched, steering vectors, and
// threads of its own for work that takes long. That work takes turns with the engines, pass by pass. Thread-safe.
class Inspector {
 public:
  explicit Inspector(const InspectOptions& options);
  ~Inspector();  // stop(), and waits for what runs

  CaptureStore& captures() { return captures_; }
  const SteeringShelf& steering() const { return steering_; }

  // Has a job run on one of the threads; false when too many wait. Jobs must not throw.
  bool run(std::function<void()> job);
  // The model of an engine as the tools see it, with keys and values as the engine has them. Before each pass it asks
  // `is_cancelled`, and throws Error(kInternal) when that or stop() says so.
  LanguageInterp model_of(const std::shared_ptr<TextEngine>& engine, std::function<bool()> is_cancelled = {}) const;
  // Work that runs or waits ends before its next pass.
  void stop();
  bool is_stopping() const { return is_stopping_; }

 private:
  void work();

  const int64_t max_waiting_;
  SteeringShelf steering_;
  CaptureStore captures_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> jobs_;
  std::atomic<bool> is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace wick
