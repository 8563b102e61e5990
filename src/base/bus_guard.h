#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace wick {

// Keeps a process alive that reads a mapped file which has become shorter, or whose disk fails: the system then sends
// SIGBUS. While it lives, such pages of `bytes`, to their end, become zeros of this process's own, and the guard says
// so. Signals for other addresses go to whoever was there before. Bytes of no mapping, and systems without such
// signals, are not looked after.
class BusGuard {
 public:
  explicit BusGuard(std::span<const std::byte> bytes);
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  bool has_lost_bytes() const;

  struct Place;  // of a mapping, for the handler of the signal

 private:
  Place* place_ = nullptr;
};

}  // namespace wick
