#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/thread_pool.h"
#include "support/devices.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

TEST(Arena, ReusesTheSameMemoryInEveryScope) {
  Arena arena(1 << 16);
  const std::byte* first = nullptr;
  for (int pass = 0; pass < 10; ++pass) {
    const ArenaScope scope(arena);
    const Tensor a = empty({100}), b = empty({7}, DType::kU8);
    if (!first) first = a.raw();
    EXPECT_EQ(a.raw(), first);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % kStorageAlignment, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.raw()) % kStorageAlignment, 0u);
    EXPECT_GE(b.raw(), a.raw() + 400);
  }
  EXPECT_EQ(arena.chunk_bytes(), size_t{1} << 16);
}

TEST(Arena, TensorsThatLeaveTheScopeStayValid) {
  Tensor kept;
  {
    Arena arena(1 << 12);
    {
      const ArenaScope scope(arena);
      kept = full({64}, 3);
    }
    for (int pass = 0; pass < 5; ++pass) {
      const ArenaScope scope(arena);
      const Tensor other = full({64}, 9);
      EXPECT_NE(other.raw(), kept.raw());
    }
  }  // the arena itself goes, too
  EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(64, 3.0f));
}

TEST(Arena, ChunkComesBackWhenTheLastTensorGoes) {
  Arena arena(1 << 12);
  Tensor kept;
  const std::byte* address = nullptr;
  {
    const ArenaScope scope(arena);
    kept = empty({8});
    address = kept.raw();
  }
  kept = Tensor();
  const ArenaScope scope(arena);
  EXPECT_EQ(empty({8}).raw(), address);
}

TEST(Arena, GrowsToOneChunkThatFitsAll) {
  Arena arena(4096);
  const auto pass = [&] {
    const ArenaScope scope(arena);
    for (int i = 0; i < 50; ++i) full({1000}, i);
  };
  pass();
  pass();
  const size_t settled = arena.chunk_bytes();
  for (int i = 0; i < 5; ++i) pass();
  EXPECT_EQ(arena.chunk_bytes(), settled);
  EXPECT_GE(settled, 50u * 4000u);
  EXPECT_LE(settled, 50u * 4000u * 2);
}

TEST(Arena, ScopesNestAndPause) {
  Arena arena(1 << 14);
  EXPECT_EQ(Arena::current(), nullptr);
  const ArenaScope outer(arena);
  EXPECT_EQ(Arena::current(), &arena);
  const Tensor outside = full({16}, 1);
  {
    const ArenaScope inner(arena);
    full({16}, 2);
  }
  const Tensor after = full({16}, 3);
  EXPECT_EQ(outside.to_vector<float>(), std::vector<float>(16, 1.0f));
  EXPECT_EQ(after.to_vector<float>(), std::vector<float>(16, 3.0f));
  {
    const ArenaPause pause;
    EXPECT_EQ(Arena::current(), nullptr);
  }
  EXPECT_EQ(Arena::current(), &arena);
}

TEST(Arena, ThreadsHaveScopesOfTheirOwn) {
  if (!kHasThreads) GTEST_SKIP() << "this build has no threads";
  Arena arena(1 << 14);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&arena, t] {
      for (int pass = 0; pass < 200; ++pass) {
        const ArenaScope scope(arena);
        const Tensor x = full({100}, t);
        EXPECT_EQ(x.to_vector<float>(), std::vector<float>(100, static_cast<float>(t)));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Storage, TooMuchMemoryIsAnError) {
  EXPECT_ERROR(empty({int64_t{1} << 61}, DType::kF64), kOutOfMemory, "[2305843009213693952] of f64");
  EXPECT_ERROR(empty({int64_t{1} << 55}), kOutOfMemory, "bytes on cpu");
  expect_error([] { empty({2}, DType::kF32, kMissingDevice); }, kMissingDeviceError, "cuda:200");
}

TEST(Storage, BorrowedBytesAreReadOnlyAndKeepTheirOwner) {
  auto owner = std::make_shared<std::vector<float>>(4, 2.0f);
  const auto* bytes = reinterpret_cast<const std::byte*>(owner->data());
  Tensor x(Storage::borrow(bytes, 16, owner), Layout::contiguous({4}), DType::kF32);
  const std::weak_ptr<std::vector<float>> watch = owner;
  owner.reset();
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 2.0f));
  EXPECT_ERROR(x.mutable_data<float>(), kUnsupported, "read-only");
  EXPECT_ERROR(x.data<double>(), kDType, "read as f64 but it holds f32");
  EXPECT_FALSE(watch.expired());
  x = Tensor();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace wick
