#pragma once

#include <chrono>
#include <thread>

#include "support/sanitized.h"

namespace wick {

// Looks again and again, for ten seconds at most (and longer under a sanitizer).
template <typename Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kSlowness * std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace wick
