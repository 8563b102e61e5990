#include "tensor/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "support/errors.h"

namespace wick {
namespace {

TEST(Shape, ChecksRankSignAndOverflow) {
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(to_string(Shape()), "[]");
  EXPECT_EQ(to_string(Shape({2, 3})), "[2, 3]");
  EXPECT_EQ(Shape({0, 5}).numel(), 0);
  EXPECT_ERROR(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), kShape, "rank 9, the most is 8");
  EXPECT_ERROR(Shape({2, -1}), kShape, "[2, -1] has the negative size -1");
  const int64_t big = int64_t{1} << 40;
  EXPECT_ERROR(Shape({big, big}), kShape, "more elements than 63 bits");
  EXPECT_ERROR(Shape({0, big, big}), kShape, "more elements than 63 bits");
}

TEST(Shape, DimensionsCountFromBothEnds) {
  EXPECT_EQ(normalize_dim("op", -1, 3), 2);
  EXPECT_EQ(normalize_dim("op", 0, 3), 0);
  EXPECT_ERROR(normalize_dim("sum", 3, 3), kInvalidArgument, "sum: dimension 3 of a tensor of rank 3");
  EXPECT_ERROR(normalize_dim("sum", -4, 3), kInvalidArgument, "sum: dimension -4 of a tensor of rank 3");
  EXPECT_ERROR(normalize_dim("sum", 0, 0), kInvalidArgument, "rank 0");
}

// All element offsets in row-major order of the view.
std::vector<int64_t> offsets(const Layout& layout) {
  std::vector<int64_t> result;
  const Shape& shape = layout.shape;
  for (int64_t flat = 0; flat < shape.numel(); ++flat) {
    int64_t rest = flat, offset = layout.offset;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += rest % shape[d] * layout.strides[d];
      rest /= shape[d];
    }
    result.push_back(offset);
  }
  return result;
}

TEST(Layout, ViewsPointAtTheRightElements) {
  const Layout base = Layout::contiguous({2, 3, 4});
  EXPECT_EQ(offsets(base.narrow(2, 1, 2)), (std::vector<int64_t>{1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}));
  EXPECT_EQ(base.transpose(0, 2).shape, Shape({4, 3, 2}));
  EXPECT_EQ(offsets(base.narrow(0, 0, 1).flip(2)), (std::vector<int64_t>{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}));
  EXPECT_EQ(offsets(*Layout::contiguous({2, 1}).broadcast_to({2, 3})), (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_FALSE(Layout::contiguous({2, 3}).broadcast_to({2, 4}));
  EXPECT_FALSE(Layout::contiguous({2, 3}).broadcast_to({3}));
  EXPECT_TRUE(base.unsqueeze(1).squeeze(1).is_contiguous());
  EXPECT_FALSE(base.transpose(0, 1).is_contiguous());
  EXPECT_TRUE(Layout::contiguous({3, 1, 4}).transpose(0, 1).is_contiguous());
}

// Whenever reshape() succeeds without moving elements, it visits the same offsets in the same order; it must succeed
// for contiguous layouts.
TEST(Layout, ReshapeKeepsTheOrderOfElements) {
  std::mt19937 random(7);
  const std::vector<Shape> sources = {{2, 3, 4}, {4, 6}, {24}, {1, 4, 1, 6}, {2, 2, 2, 3}};
  const std::vector<Shape> targets = {{24}, {4, 6}, {6, 4}, {2, 12}, {3, 8}, {2, 3, 4}, {1, 24, 1}, {2, 2, 6}, {8, 3}};
  int views = 0;
  for (const Shape& source : sources) {
    for (int trial = 0; trial < 20; ++trial) {
      Layout layout = Layout::contiguous(source);
      if (trial > 0) {
        std::vector<int> order(source.rank());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        layout = layout.permute(order);
        if (trial % 3 == 0) layout = layout.flip(static_cast<int>(random() % source.rank()));
      }
      for (const Shape& target : targets) {
        const auto view = layout.reshape(target);
        if (layout.is_contiguous()) {
          ASSERT_TRUE(view);
        }
        if (!view) continue;
        ++views;
        EXPECT_EQ(view->shape, target);
        EXPECT_EQ(offsets(*view), offsets(layout)) << to_string(layout.shape) << " to " << to_string(target);
      }
    }
  }
  EXPECT_GT(views, 100);
}

TEST(LoopNest, MergesWhatLiesTogether) {
  const Layout base = Layout::contiguous({2, 3, 4});
  EXPECT_EQ(merge_loops<1>(base.shape, {base.strides}).rank, 1);
  const Layout cut = base.narrow(2, 0, 3);
  EXPECT_EQ(merge_loops<1>(cut.shape, {cut.strides}).rank, 2);
  const Layout row = *Layout::contiguous({4}).broadcast_to(base.shape);
  const auto nest = merge_loops<2>(base.shape, {base.strides, row.strides});
  EXPECT_EQ(nest.rank, 2);
  EXPECT_EQ(nest.outer_count(), 6);
  EXPECT_EQ(nest.offsets(5), (std::array<int64_t, 2>{20, 0}));
  EXPECT_EQ(merge_loops<1>(Shape{1, 1}, {Strides{}}).inner_size(), 1);
}

}  // namespace
}  // namespace wick
