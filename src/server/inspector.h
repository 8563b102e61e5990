#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"
#include "engine/text/text_engine.h"
#include "interp/language_interp.h"
#include "server/capture_store.h"
#include "server/inside_shelf.h"

namespace wick {

struct InspectOptions {
  InsideShelf::Folders folders;
  int threads = 2;
  int64_t max_waiting = 16;
  CaptureStore::Limits captures;
};

// What a server needs to let clients look into its models: captures that wait to be fetched, what requests may name,
// and threads of its own for work that takes long. That work takes turns with the engines, pass by pass. Thread-safe.
class Inspector {
 public:
  explicit Inspector(const InspectOptions& options);
  ~Inspector();  // stop(), and waits for what runs

  CaptureStore& captures() { return captures_; }
  const InsideShelf& shelf() const { return shelf_; }

  // Has a job run on one of the threads; false when too many wait, or more than half are this client's. Jobs must not
  // throw.
  bool run(const std::string& client, std::function<void()> job);
  // Computes in turn with the engines. Before, it asks `is_cancelled`, and throws Error(kInternal) when that or stop()
  // says so.
  void take_turn(const std::function<bool()>& is_cancelled, FunctionRef<void()> compute) const;
  // The model of an engine as the tools see it, with keys and values as the engine has them; each pass takes a turn.
  LanguageInterp model_of(const std::shared_ptr<TextEngine>& engine, std::function<bool()> is_cancelled = {}) const;
  // Work that runs or waits ends before its next pass.
  void stop();
  bool is_stopping() const { return is_stopping_; }

 private:
  void work();

  const int64_t max_waiting_;
  InsideShelf shelf_;
  CaptureStore captures_;
  std::mutex mutex_;
  std::condition_variable news_;
  struct Job {
    std::string client;
    std::function<void()> run;
  };
  std::deque<Job> jobs_;
  std::atomic<bool> is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace wick
