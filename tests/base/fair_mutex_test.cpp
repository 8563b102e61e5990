#include "base/fair_mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/comes_true.h"

namespace wick {
namespace {

TEST(FairMutex, IsGivenInTheOrderItIsAskedFor) {
  FairMutex mutex;
  std::vector<int> order;
  mutex.lock();
  EXPECT_EQ(mutex.waiting(), 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::lock_guard turn(mutex);
      order.push_back(i);
    });
    ASSERT_TRUE(comes_true([&] { return mutex.waiting() == i + 1; }));
  }
  mutex.unlock();
  mutex.lock();  // behind them all
  order.push_back(4);
  EXPECT_EQ(mutex.waiting(), 0);
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace wick
