#pragma once

#include <chrono>
#include <thread>

namespace wick {

// Looks again and again, for ten seconds at most.
template <typename Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace wick
