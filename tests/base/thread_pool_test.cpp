#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.h"

namespace wick {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    before_ = ThreadPool::instance().size();
    ThreadPool::instance().resize(GetParam());
  }
  void TearDown() override { ThreadPool::instance().resize(before_); }

 private:
  int before_ = 1;
};

TEST_P(ThreadPoolTest, CoversEveryIndexOnceInPiecesOfGrain) {
  EXPECT_EQ(ThreadPool::instance().size(), kHasThreads ? GetParam() : 1);
  for (const int64_t count : {0, 1, 2, 7, 64, 1000, 4097}) {
    for (const int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits(count);
      parallel_for(count, grain, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        EXPECT_LE(end - begin, grain);
        for (int64_t i = begin; i < end; ++i) ++hits[i];
      });
      for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1);
    }
  }
}

TEST_P(ThreadPoolTest, NestedCallsRunInline) {
  std::atomic<int64_t> total = 0;
  parallel_for(16, 1, [&](int64_t outer, int64_t) {
    parallel_for(100, 7, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) total += outer * 100 + i;
    });
  });
  EXPECT_EQ(total.load(), 1599 * 1600 / 2);
}

TEST_P(ThreadPoolTest, SeveralCallersAtOnceAllFinish) {
  if (!kHasThreads) GTEST_SKIP() << "this build has no threads";
  std::vector<int64_t> sums(4);
  std::vector<std::thread> callers;
  for (int64_t& sum : sums) {
    callers.emplace_back([&sum] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int64_t> total = 0;
        parallel_for(64, 4, [&](int64_t begin, int64_t end) { total += end - begin; });
        sum += total;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}), 4 * 200 * 64);
}

TEST_P(ThreadPoolTest, RethrowsTheFirstExceptionAndStaysUsable) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(parallel_for(100, 1,
                              [](int64_t begin, int64_t) {
                                if (begin == 37) throw Error(ErrorCode::kInternal, "piece 37");
                              }),
                 Error);
  }
  std::atomic<int> pieces = 0;
  parallel_for(10, 1, [&](int64_t, int64_t) { ++pieces; });
  EXPECT_EQ(pieces.load(), 10);
}

INSTANTIATE_TEST_SUITE_P(, ThreadPoolTest, testing::Values(1, 2, 3, 8));

TEST(ThreadPool, ResizeRefusesNonsense) {
  const int before = ThreadPool::instance().size();
  for (const int threads : {0, -1, 100000}) {
    try {
      ThreadPool::instance().resize(threads);
      ADD_FAILURE() << threads << " threads were accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(std::to_string(threads)), std::string::npos);
    }
  }
  EXPECT_EQ(ThreadPool::instance().size(), before);
}

TEST(ThreadPool, IdleWorkersSleep) {
  if (!kHasThreads) GTEST_SKIP() << "this build has no threads";
  ThreadPool::instance().resize(4);
  parallel_for(1000, 1, [](int64_t, int64_t) {});
  // Workers that are slow to fall asleep on a busy machine have several tries; one that spins has none.
  double used = 1;
  for (int tries = 0; tries < 10 && used >= 0.02; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    timespec before{}, after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    used =
        static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  }
  EXPECT_LT(used, 0.02) << "idle threads used " << used << " s of CPU in 0.1 s";
}

}  // namespace
}  // namespace wick
