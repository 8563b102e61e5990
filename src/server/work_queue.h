#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace wick {

// Threads for work that takes long. One client never has all threads nor all places to wait. Thread-safe.
class WorkQueue {
 public:
  WorkQueue(int threads, int64_t max_waiting);
  ~WorkQueue();  // waits for what runs; what still waits is dropped

  // Has a job run on one of the threads; false when too many wait already. Jobs must not throw.
  bool run(const std::string& client, std::function<void()> job);

 private:
  struct Job {
    std::string client;
    std::function<void()> run;
  };
  std::deque<Job>::iterator next_job();  // with the lock held
  void work();

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
