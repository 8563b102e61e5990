#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace wick {

// False in a WebAssembly build without threads: the pool's size is then always 1, and std::thread throws.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

// The process's one pool of compute threads. The calling thread takes part, so size() == 1 means no extra threads.
// Idle workers spin for some tens of microseconds, so a loop of short kernels wakes them in well under a
// microsecond, then sleep in the kernel.
class ThreadPool {
 public:
  // Sized by WICK_THREADS, else by the number of CPUs this process may run on.
  static ThreadPool& instance();

  int size() const { return size_.load(std::memory_order_relaxed); }
  // Waits for running work, then changes the number of threads (at least 1).
  void resize(int threads);

  // Calls body(begin, end) on pieces that cover [0, count) exactly once; each piece starts at a multiple of grain and
  // is at most grain long. Which thread runs a piece is not defined, so body must give the same result either way.
  // Runs inline when called from inside a body or while another thread uses the pool. The first exception thrown by a
  // body is rethrown here after all pieces have ended.
  void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

 private:
  explicit ThreadPool(int threads);
  void start(int threads);
  void stop();
  void worker_loop();
  void work();  // takes pieces of the open job until none are left

  struct Job {
    FunctionRef<void(int64_t, int64_t)>* body = nullptr;
    int64_t count = 0;
    int64_t grain = 1;
    std::exception_ptr error;
    std::mutex error_mutex;
  };

  std::vector<std::thread> workers_;
  std::atomic<int> size_{1};
  std::mutex use_mutex_;                       // held by the thread whose job is running
  Job job_;                                    // written only while open_ is false and active_ is 0
  alignas(64) std::atomic<int32_t> epoch_{0};  // bumped per job; workers wait on it
  std::atomic<int32_t> sleepers_{0};
  alignas(64) std::atomic<bool> open_{false};  // workers may join the job
  std::atomic<int32_t> active_{0};             // workers inside (or checking) the job
  alignas(64) std::atomic<int64_t> next_{0};   // first index not yet taken
  std::atomic<bool> stopping_{false};
};

// Shorthand for ThreadPool::instance().parallel_for.
inline void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  ThreadPool::instance().parallel_for(count, grain, body);
}

}  // namespace wick
