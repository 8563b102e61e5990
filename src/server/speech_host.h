#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/speech/recognizer.h"

namespace wick {

// A speech model that the server offers.
struct SpeechEntry {
  std::string name;            // what requests call it
  std::filesystem::path path;  // empty: Ember-ASR, the one inside the program
  RecognizerOptions load;
};

// The speech models of a server, loaded when first asked for, and threads for those who listen: that takes long.
// Thread-safe.
class SpeechHost {
 public:
  // Throws Error(kInvalidArgument) for a name given twice.
  explicit SpeechHost(std::vector<SpeechEntry> models, int threads = 8, int64_t max_waiting = 64);
  ~SpeechHost();  // waits for those who listen; who still waits is dropped

  std::vector<std::string> names() const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool is_loaded(std::string_view name) const;
  std::string unknown(std::string_view name) const;  // the sentence for a name that is not there, with those that are
  const std::string& default_model() const;          // the first one. Throws Error(kUnsupported) when there is none

  // Loads the model if need be, which may take long. Throws Error that lists the known names, or says why it cannot be
  // loaded; the next one who asks tries again.
  std::shared_ptr<const SpeechRecognizer> use(std::string_view name);
  // Has a job run on one of the threads; false when too many wait already. One client never has all threads nor all
  // places to wait. Jobs must not throw.
  bool run(const std::string& client, std::function<void()> job);

 private:
  struct Slot {
    SpeechEntry entry;
    std::mutex loading;
    std::shared_ptr<const SpeechRecognizer> recognizer;  // changes while `loading` is held
    std::atomic<bool> is_loaded = false;
  };
  struct Job {
    std::string client;
    std::function<void()> run;
  };
  Slot* find(std::string_view name) const;
  std::deque<Job>::iterator next_job();  // with the lock held
  void work();

  std::vector<std::unique_ptr<Slot>> slots_;
  const int64_t most_running_;  // of one client
  const int64_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Job> jobs_;
  std::map<std::string, int64_t, std::less<>> running_;  // jobs of each client
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace wick
