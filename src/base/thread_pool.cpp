#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace wick {
namespace {

constexpr int kMaxThreads = 1024;
constexpr std::chrono::microseconds kSpinTime{50};

thread_local bool inside_body = false;

void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int available_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int default_threads() {
  const auto wanted = env_int("WICK_THREADS", 1, kMaxThreads);
  return wanted ? static_cast<int>(*wanted) : available_cpus();
}

}  // namespace

ThreadPool& ThreadPool::instance() {
  static ThreadPool pool(default_threads());
  return pool;
}

ThreadPool::ThreadPool(int threads) { start(threads); }

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::resize(int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("thread pool: ", threads, " threads asked for, expected 1 to ", kMaxThreads));
  }
  const std::lock_guard lock(use_mutex_);
  if (threads == size()) return;
  stop();
  start(threads);
}

void ThreadPool::start(int threads) {
  if (!kHasThreads) threads = 1;  // the caller does all the work
  stopping_.store(false);
  workers_.reserve(threads - 1);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker_loop(); });
  size_.store(threads);
}

void ThreadPool::stop() {
  stopping_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
}

void ThreadPool::worker_loop() {
  int32_t seen = epoch_.load();
  while (!stopping_.load()) {
    // A worker announces itself before it looks at open_, and the caller closes open_ before it looks at active_, so
    // either the worker sees a closed job or the caller waits for it.
    active_.fetch_add(1);
    if (open_.load()) work();
    active_.fetch_sub(1);

    const auto spin_until = std::chrono::steady_clock::now() + kSpinTime;
    for (int spins = 1; epoch_.load() == seen; ++spins) {
      pause_cpu();
      if (spins % 64 == 0 && std::chrono::steady_clock::now() > spin_until) {
        sleepers_.fetch_add(1);
        epoch_.wait(seen);
        sleepers_.fetch_sub(1);
      }
    }
    seen = epoch_.load();
  }
}

void ThreadPool::work() {
  inside_body = true;
  for (;;) {
    const int64_t begin = next_.fetch_add(job_.grain);
    if (begin >= job_.count) break;
    try {
      (*job_.body)(begin, std::min(begin + job_.grain, job_.count));
    } catch (...) {
      const std::lock_guard lock(job_.error_mutex);
      if (!job_.error) job_.error = std::current_exception();
      next_.store(job_.count);  // no further pieces
    }
  }
  inside_body = false;
}

void ThreadPool::parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  std::unique_lock lock(use_mutex_, std::defer_lock);
  const bool alone = count <= grain || inside_body || size() == 1 || !lock.try_lock();
  if (alone) {
    for (int64_t begin = 0; begin < count; begin += grain) body(begin, std::min(begin + grain, count));
    return;
  }
  job_.body = &body;
  job_.count = count;
  job_.grain = grain;
  job_.error = nullptr;
  next_.store(0);
  open_.store(true);
  epoch_.fetch_add(1);
  if (sleepers_.load() > 0) epoch_.notify_all();
  work();
  open_.store(false);
  for (int spins = 0; active_.load() > 0; ++spins) {
    if (spins < 4096) {
      pause_cpu();
    } else {
      std::this_thread::yield();
    }
  }
  if (job_.error) std::rethrow_exception(std::exchange(job_.error, nullptr));
}

}  // namespace wick
