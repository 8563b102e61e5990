#include "formats/byte_changes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "formats/layout_copy.h"
#include "support/compare.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr HeadCounts kCounts{4, 2, 1};

// As NumPy would say it: w.reshape(heads, 2, dim / 2, -1).swapaxes(1, 2).reshape(w.shape).
std::vector<float> interleaved(const std::vector<float>& w, int64_t heads, int64_t dim, int64_t columns) {
  std::vector<float> out;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < dim / 2; ++i) {
      for (int64_t half = 0; half < 2; ++half) {
        for (int64_t c = 0; c < columns; ++c) out.push_back(w[(h * dim + half * (dim / 2) + i) * columns + c]);
      }
    }
  }
  return out;
}

TEST(ByteChanges, RotaryRowsAsNumpyWouldMoveThem) {
  const Tensor query = randn({4 * 6, 5}, 1), key = randn({2 * 6, 5}, 2), bias = randn({4 * 6}, 3);
  const auto check = [&](const Tensor& hf, ByteChange change, int64_t heads) {
    const Tensor gguf = to_gguf(hf, change, kCounts, "w");
    EXPECT_EQ(gguf.to_vector<float>(), interleaved(hf.to_vector<float>(), heads, 6, hf.rank() == 2 ? 5 : 1));
    expect_identical(to_hf(gguf, change, kCounts, "w"), hf, "back");
  };
  check(query, ByteChange::kRotaryQuery, 4);
  check(key, ByteChange::kRotaryKey, 2);
  check(bias, ByteChange::kRotaryQuery, 4);
}

TEST(ByteChanges, PackedRowsMoveWhole) {
  Tensor rows = empty({8, 64}, DType::kQ8_0);  // 8 rows of 2 blocks
  const int64_t row_bytes = 2 * block_bytes(DType::kQ8_0);
  for (int64_t i = 0; i < 8; ++i) std::memset(rows.raw() + i * row_bytes, static_cast<int>(i), row_bytes);
  const Tensor moved = to_hf(rows, ByteChange::kRotaryKey, kCounts, "w");  // two heads of four rows
  std::vector<int> order;
  for (int64_t i = 0; i < 8; ++i) order.push_back(static_cast<int>(moved.raw()[i * row_bytes + 7]));
  EXPECT_EQ(order, (std::vector<int>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(std::memcmp(to_gguf(moved, ByteChange::kRotaryKey, kCounts, "w").raw(), rows.raw(), 8 * row_bytes), 0);
}

TEST(ByteChanges, FusedQkv) {
  // Rows named by number: per key head its two query heads, then k, then v; one row per head.
  const Tensor grouped = arange(0, 8, 1);
  const Tensor apart = to_gguf(grouped, ByteChange::kQkvPerGroup, kCounts, "w");
  EXPECT_EQ(apart.to_vector<float>(), (std::vector<float>{0, 1, 4, 5, 2, 6, 3, 7}));
  expect_identical(to_hf(apart, ByteChange::kQkvPerGroup, kCounts, "w"), grouped, "grouped");
  const Tensor per_head = arange(0, 12, 1);  // q, k, v of each of four heads
  const Tensor sorted = to_gguf(per_head, ByteChange::kQkvPerHead, kCounts, "w");
  EXPECT_EQ(sorted.to_vector<float>(), (std::vector<float>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
  expect_identical(to_hf(sorted, ByteChange::kQkvPerHead, kCounts, "w"), per_head, "per head");
}

TEST(ByteChanges, Values) {
  const Tensor x = randn({6}, 1);
  const Tensor plus = to_gguf(x, ByteChange::kPlusOne, kCounts, "w");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(plus.data<float>()[i], x.data<float>()[i] + 1);
  expect_close(to_hf(plus, ByteChange::kPlusOne, kCounts, "w"), x, 1e-6, "minus one");
  const Tensor a = to_gguf(x, ByteChange::kNegativeExpColumn, kCounts, "w");
  EXPECT_EQ(a.shape(), Shape({6, 1}));
  EXPECT_FLOAT_EQ(a.data<float>()[2], -std::exp(x.data<float>()[2]));
  expect_close(to_hf(a, ByteChange::kNegativeExpColumn, kCounts, "w"), x, 1e-6, "A_log");
}

TEST(ByteChanges, ExpertsOfGptOss) {
  const Tensor gate_up = randn({3, 4, 10}, 1);  // [experts, in, 2 * out], gate and up in turn
  const Tensor up = compact(to_gguf(gate_up, ByteChange::kOddOfTransposed, kCounts, "w"));
  EXPECT_EQ(up.shape(), Shape({3, 5, 4}));
  for (int e = 0; e < 3; ++e) {
    for (int o = 0; o < 5; ++o) {
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(up.data<float>()[(e * 5 + o) * 4 + i], gate_up.data<float>()[(e * 4 + i) * 10 + 2 * o + 1]);
      }
    }
  }
  EXPECT_ERROR(to_hf(up, ByteChange::kOddOfTransposed, kCounts, "w"), kUnsupported, "only a part");
}

TEST(ByteChanges, ShapesThatContradict) {
  EXPECT_ERROR(to_hf(zeros({10, 4}), ByteChange::kRotaryQuery, kCounts, "blk.0.attn_q.weight"), kBadFile,
               "blk.0.attn_q.weight is [10, 4], expected rows that 4 heads share");
  EXPECT_ERROR(to_hf(zeros({10, 4}), ByteChange::kRotaryQuery, HeadCounts{}, "w"), kBadFile, "0 heads");
  EXPECT_ERROR(to_gguf(zeros({9, 4}), ByteChange::kQkvPerGroup, kCounts, "w"), kBadFile, "heads share");
  EXPECT_ERROR(to_gguf(zeros({9, 4}), ByteChange::kQkvPerGroup, HeadCounts{3, 2, 1}, "w"), kBadFile, "whole number");
  EXPECT_ERROR(to_gguf(zeros({4}), ByteChange::kTransposed, kCounts, "w"), kBadFile, "expected a matrix");
  EXPECT_ERROR(to_gguf(zeros({4, 2, 3}), ByteChange::kDropMiddle, kCounts, "w"), kBadFile, "1 in the middle");
}

}  // namespace
}  // namespace wick
