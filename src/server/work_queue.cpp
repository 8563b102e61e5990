#include "server/work_queue.h"

#include <algorithm>

namespace wick {
namespace {

// What one client may take of what all share.
int64_t most_of(int64_t all) { return std::max<int64_t>(1, all - std::max<int64_t>(1, all / 4)); }

}  // namespace

WorkQueue::WorkQueue(int threads, int64_t max_waiting) : most_running_(most_of(threads)), max_waiting_(max_waiting) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    jobs_.clear();
  }
  news_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkQueue::run(const std::string& client, std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_ || std::ssize(jobs_) >= max_waiting_) return false;
  const auto own = std::count_if(jobs_.begin(), jobs_.end(), [&](const Job& other) { return other.client == client; });
  if (own >= most_of(max_waiting_)) return false;
  jobs_.push_back({client, std::move(job)});
  news_.notify_one();
  return true;
}

// The oldest of a client that may have one more.
std::deque<WorkQueue::Job>::iterator WorkQueue::next_job() {
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    const auto running = running_.find(job.client);
    return running == running_.end() || running->second < most_running_;
  });
}

void WorkQueue::work() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return is_stopping_ || next_job() != jobs_.end(); });
      if (is_stopping_) return;
      const auto next = next_job();
      job = std::move(*next);
      jobs_.erase(next);
      ++running_[job.client];
    }
    job.run();
    job.run = nullptr;  // it may hold the last of what it used
    const std::lock_guard lock(mutex_);
    if (--running_[job.client] == 0) running_.erase(job.client);
    news_.notify_one();
  }
}

}  // namespace wick
