// Blocks are copied, saved and restored bit for bit, and no others change.
#include "nn/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/devices.h"
#include "support/errors.h"

namespace wick {
namespace {

using Bytes = std::vector<std::byte>;

// Two layers that differ in everything.
const std::vector<KvShape> kShapes = {{3, 17, 17}, {1, 8, 5}};

class KvCacheTest : public testing::TestWithParam<std::tuple<Device, DType>> {
 protected:
  KvCache make(int64_t blocks) const {
    const KvCache cache(kShapes, blocks, std::get<1>(GetParam()), std::get<0>(GetParam()));
    uint32_t seed = 1;
    for_parts(cache, [&](std::byte* part, size_t size) {
      for (size_t i = 0; i < size; ++i) part[i] = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
    });
    return cache;
  }
  template <typename Visit>
  static void for_parts(const KvCache& cache, const Visit& visit) {
    for (size_t i = 0; i < cache.layers(); ++i) {
      const KvBlocks& layer = cache.layer(i);
      for (const Tensor* part : {&layer.key, &layer.value, &layer.key_scale, &layer.value_scale}) {
        if (part->defined()) visit(part->raw(), static_cast<size_t>(bytes_of(part->dtype(), part->numel())));
      }
    }
  }
  // Everything the cache holds of each block.
  static std::vector<Bytes> contents(const KvCache& cache) {
    std::vector<Bytes> blocks(static_cast<size_t>(cache.blocks()));
    for_parts(cache, [&](const std::byte* part, size_t size) {
      const size_t each = size / blocks.size();
      for (size_t b = 0; b < blocks.size(); ++b)
        blocks[b].insert(blocks[b].end(), part + b * each, part + (b + 1) * each);
    });
    return blocks;
  }
};

TEST_P(KvCacheTest, KnowsItsSize) {
  const KvCache cache = make(3);
  EXPECT_EQ(cache.bytes_per_block(), KvCache::bytes_per_block(kShapes, std::get<1>(GetParam())));
  EXPECT_EQ(cache.bytes_per_block(), std::ssize(contents(cache)[0]));
  EXPECT_EQ(KvCache().bytes_per_block(), 0);
}

TEST_P(KvCacheTest, CopiesABlockAndNothingElse) {
  const KvCache cache = make(7);
  std::vector<Bytes> expected = contents(cache);
  for (const auto& [from, to] : {std::pair{2, 5}, {6, 0}, {0, 6}, {3, 3}}) {
    cache.copy_block(from, to);
    expected[static_cast<size_t>(to)] = expected[static_cast<size_t>(from)];
    EXPECT_EQ(contents(cache), expected) << from << " to " << to;
  }
  EXPECT_ERROR(cache.copy_block(7, 0), kInternal, "block 7 is to be copied, but the cache has 7");
  EXPECT_ERROR(cache.copy_block(0, -1), kInternal, "block -1 is to be copied");
  EXPECT_EQ(contents(cache), expected);
}

TEST_P(KvCacheTest, RestoresWhatItSaved) {
  const KvCache cache = make(9);
  std::vector<Bytes> expected = contents(cache);
  const std::vector<int32_t> table = {kNoBlock, 4, 8, 0}, other = {1, kNoBlock, 4, 7};
  const SavedBlocks saved = cache.save_blocks(table);
  EXPECT_EQ(saved.blocks, 3);
  EXPECT_EQ(saved.size(), 3 * cache.bytes_per_block());
  for_parts(cache, [](std::byte* part, size_t size) { std::memset(part, 0x7f, size); });
  std::vector<Bytes> after = contents(cache);
  after[1] = expected[4], after[4] = expected[8], after[7] = expected[0];
  cache.restore_blocks(saved, other);
  EXPECT_EQ(contents(cache), after);

  const SavedBlocks none = cache.save_blocks(std::vector<int32_t>{kNoBlock});
  cache.restore_blocks(none, {});
  cache.restore_blocks(SavedBlocks(), {});
  EXPECT_ERROR(cache.restore_blocks(saved, std::vector<int32_t>{1, 2}), kInternal, "3 saved blocks of");
  EXPECT_ERROR(cache.restore_blocks(saved, std::vector<int32_t>{1, 2, 9}), kInternal, "block 9 is to be copied");
  EXPECT_ERROR(cache.save_blocks(std::vector<int32_t>{1, -2}), kInternal, "block -2 is to be copied");
  EXPECT_EQ(contents(cache), after);
}

INSTANTIATE_TEST_SUITE_P(All, KvCacheTest,
                         testing::Combine(testing::ValuesIn(test_devices()),
                                          testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kI8)),
                         [](const auto& test) {
                           return cat(to_string(std::get<0>(test.param)), "_", std::get<1>(test.param));
                         });

}  // namespace
}  // namespace wick
