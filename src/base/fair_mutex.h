#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace wick {

// A mutex that is given in the order it is asked for: who lets go and asks again comes behind those who wait.
class FairMutex {
 public:
  void lock() {
    std::unique_lock hold(mutex_);
    const uint64_t ticket = next_++;
    turn_.wait(hold, [&] { return ticket == now_; });
  }
  void unlock() {
    {
      const std::lock_guard hold(mutex_);
      ++now_;
    }
    turn_.notify_all();
  }
  // How many wait; to be asked while holding it.
  int64_t waiting() const {
    const std::lock_guard hold(mutex_);
    return static_cast<int64_t>(next_ - now_) - 1;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable turn_;
  uint64_t next_ = 0, now_ = 0;
};

}  // namespace wick
