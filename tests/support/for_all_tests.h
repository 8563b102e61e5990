#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace wick {

// What make() returns, a std::unique_ptr, for all tests of the program: made when it is first asked for, and destroyed
// behind the last test. Thread-safe. A function's static would be destroyed among the tables that its threads may still
// read.
template <class Make>
auto& for_all_tests(Make make) {
  using Pointer = decltype(make());
  struct Holder : testing::Environment {
    void TearDown() override { one = nullptr; }
    std::mutex mutex;
    Pointer one;
  };
  static auto* const holder = static_cast<Holder*>(testing::AddGlobalTestEnvironment(new Holder));
  const std::lock_guard lock(holder->mutex);
  if (!holder->one) holder->one = make();
  return *holder->one;
}

}  // namespace wick
