#include "engine/kv/block_pool.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

TEST(BlockPoolTest, CountsUsers) {
  BlockPool pool(3);
  EXPECT_EQ(pool.total(), 3);
  const int32_t a = pool.try_take().value(), b = pool.try_take().value(), c = pool.try_take().value();
  EXPECT_EQ(a + b + c, 0 + 1 + 2);
  EXPECT_EQ(pool.try_take(), std::nullopt);
  pool.share(b);
  pool.release(b);
  EXPECT_EQ(pool.free(), 0);
  pool.release(b);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.uses(b), 0);
  pool.release(kNoBlock);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.taken(), 3);
  EXPECT_EQ(pool.freed(), 1);
  EXPECT_ERROR(pool.release(b), kInternal, "is released, but not in use");
  EXPECT_ERROR(pool.share(b), kInternal, "is shared, but not in use");
  EXPECT_ERROR(pool.share(3), kInternal, "block 3 is shared, but not in use");
  EXPECT_ERROR(pool.share(-1), kInternal, "block -1 is shared, but not in use");
}

TEST(BlockPoolTest, TablesGrowAndShrinkWhole) {
  BlockPool pool(4);
  std::vector<int32_t> table;
  EXPECT_TRUE(pool.try_grow(table, 0));
  EXPECT_TRUE(table.empty());
  EXPECT_TRUE(pool.try_grow(table, 17));
  EXPECT_EQ(table.size(), 2u);
  EXPECT_TRUE(pool.try_grow(table, 32));
  EXPECT_EQ(table.size(), 2u);
  EXPECT_FALSE(pool.try_grow(table, 65));
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(pool.free(), 2);
  EXPECT_TRUE(pool.try_grow(table, 64));
  pool.shrink(table, 33);
  EXPECT_EQ(table.size(), 3u);
  pool.shrink(table, 0);
  EXPECT_EQ(pool.free(), 4);
}

TEST(BlockPoolTest, WhatLiesBeforeAPositionIsGivenUp) {
  BlockPool pool(5);
  std::vector<int32_t> table;
  ASSERT_TRUE(pool.try_grow(table, 80));
  EXPECT_EQ(pool.give_up(table, -5), 0);
  EXPECT_EQ(pool.give_up(table, 15), 0);
  EXPECT_EQ(pool.give_up(table, 16), 1);
  EXPECT_EQ(pool.give_up(table, 31), 0);
  EXPECT_EQ(table[0], kNoBlock);
  EXPECT_NE(table[1], kNoBlock);
  EXPECT_EQ(pool.give_up(table, 50), 2);
  EXPECT_EQ(pool.free(), 3);
  pool.shrink(table, 20);
  EXPECT_EQ(table, (std::vector<int32_t>{kNoBlock, kNoBlock}));
  EXPECT_EQ(pool.give_up(table, 1000), 0);
  EXPECT_EQ(pool.free(), 5);
}

TEST(BlockPoolTest, WritersOfASharedBlockGetACopy) {
  const std::vector<KvShape> shapes = {{2, 4, 4}};
  const KvCache cache(shapes, 3, DType::kF32, Device::cpu());
  const Tensor key = cache.layer(0).key, value = cache.layer(0).value;
  const auto number = [&](const Tensor& of, int32_t block) -> float& {
    return reinterpret_cast<float*>(of.raw())[block * of.strides()[0] + 7];
  };
  BlockPool pool(3);
  std::vector<int32_t> first, second;
  ASSERT_TRUE(pool.try_grow(first, 32));
  for (const int32_t block : first) pool.share(block);
  second = first;
  number(key, first[1]) = 3, number(value, first[1]) = 4;
  ASSERT_TRUE(pool.try_own(second, 1, cache));
  EXPECT_EQ(second[0], first[0]);
  ASSERT_NE(second[1], first[1]);
  EXPECT_EQ(number(key, second[1]), 3);
  EXPECT_EQ(number(value, second[1]), 4);
  EXPECT_EQ(pool.uses(first[1]), 1);
  EXPECT_EQ(pool.uses(second[1]), 1);
  EXPECT_EQ(pool.copied(), 1);
  // Nothing to do, and nothing to be had.
  const std::vector<int32_t> before = second;
  EXPECT_TRUE(pool.try_own(second, 1, cache));
  EXPECT_FALSE(pool.try_own(second, 0, cache));
  EXPECT_EQ(second, before);
  EXPECT_EQ(pool.copied(), 1);
  EXPECT_EQ(pool.uses(first[0]), 2);
  std::vector<int32_t> given_up = {kNoBlock};
  EXPECT_ERROR(pool.try_own(given_up, 0, cache), kInternal, "block -1 is to be written to, but not in use");
}

}  // namespace
}  // namespace wick
