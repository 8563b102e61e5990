#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "server/capture_log.h"

namespace wick {

struct StoredCapture {
  std::shared_ptr<const CaptureLog> log;
  std::vector<int32_t> tokens;  // prompt and answer
};

// Captures that wait to be fetched, each by the name of the key it was made with: for some minutes, and all together no
// more than so many bytes. When there is no room the oldest go. Thread-safe.
class CaptureStore {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    int64_t bytes = int64_t{256} << 20;
    int64_t bytes_each = int64_t{64} << 20;
    size_t captures = 64;
    std::chrono::seconds kept{600};
  };

  explicit CaptureStore(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  void put(std::string id, std::string owner, StoredCapture capture, Clock::time_point now = Clock::now());
  // Null when there is none, it is too old, or it is somebody else's.
  std::shared_ptr<const StoredCapture> find(std::string_view id, std::string_view owner,
                                            Clock::time_point now = Clock::now());
  bool remove(std::string_view id, std::string_view owner);  // false: there was none
  int64_t bytes() const;

 private:
  struct Item {
    std::string id, owner;
    std::shared_ptr<const StoredCapture> capture;
    Clock::time_point expires;
  };
  void drop_front();
  void drop_old(Clock::time_point now);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::deque<Item> items_;  // the oldest first
  int64_t bytes_ = 0;
};

}  // namespace wick
