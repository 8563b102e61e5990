#include "ops/layers/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include <limits>

#include "base/thread_pool.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/targets.h"
#include "tensor/create.h"

namespace wick {
namespace {

enum class Layout2d { kRows, kColumns, kStrided };  // b [k, n]: row-major, a transposed view, no unit stride
constexpr Layout2d kLayouts[] = {Layout2d::kRows, Layout2d::kColumns, Layout2d::kStrided};
constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};

Tensor matrix(int64_t rows, int64_t cols, Layout2d layout, DType dtype, uint64_t seed) {
  switch (layout) {
    case Layout2d::kRows: return randn({rows, cols}, seed, dtype);
    case Layout2d::kColumns: return transpose(randn({cols, rows}, seed, dtype), 0, 1);
    case Layout2d::kStrided:
      return narrow(reshape(randn({rows, cols, 2}, seed, dtype), {rows, cols * 2}), 1, 0, cols * 2);
  }
  return {};
}

// Every second column of a matrix twice as wide.
Tensor every_second(const Tensor& x) {
  Layout layout = x.layout();
  layout.shape = layout.shape.with(1, layout.shape[1] / 2);
  layout.strides[1] *= 2;
  return x.with_layout(layout);
}

Tensor make(int64_t rows, int64_t cols, Layout2d layout, DType dtype, uint64_t seed) {
  const Tensor x = matrix(rows, cols, layout, dtype, seed);
  return layout == Layout2d::kStrided ? every_second(x) : x;
}

double tolerance(DType out, int64_t k) {
  const double sum = std::sqrt(static_cast<double>(k) + 1);
  if (out == DType::kF64) return 1e-15 * (10 + sum);
  if (out == DType::kF32) return 2e-6 * (2 + sum);
  return (out == DType::kF16 ? 1.0 / 1024 : 1.0 / 128) + 1e-5 * sum;
}

void expect_matches_reference(const Tensor& a, const Tensor& b, const std::string& what) {
  const Tensor want = matmul(a.to_device(Device::reference()), b.to_device(Device::reference()));
  expect_close(matmul(a, b), want, tolerance(want.dtype(), a.dim(-1)), what);
}

class Threads {
 public:
  explicit Threads(int count) : before_(ThreadPool::instance().size()) { ThreadPool::instance().resize(count); }
  ~Threads() { ThreadPool::instance().resize(before_); }

 private:
  int before_;
};

TEST(CpuMatmul, MatchesReferenceAtAwkwardSizes) {
  on_every_target([](const std::string&) {
    for (const Layout2d layout : kLayouts) {
      for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 1, 1},
                                    {1, 5, 17},
                                    {2, 17, 1},
                                    {5, 2, 65},
                                    {17, 65, 5},
                                    {65, 127, 17},
                                    {13, 130, 67},
                                    {1, 1030, 65},
                                    {3, 600, 259},
                                    {9, 513, 97},
                                    {200, 33, 50}}) {
        const Tensor a = make(m, k, Layout2d::kRows, DType::kF32, 1), b = make(k, n, layout, DType::kF32, 2);
        expect_matches_reference(a, b, cat(m, "x", k, "x", n, " layout ", static_cast<int>(layout)));
      }
    }
  });
}

TEST(CpuMatmul, MatchesReferenceForEveryPairOfDTypes) {
  on_every_target([](const std::string&) {
    for (const DType x : kFloats) {
      for (const DType y : kFloats) {
        for (const Layout2d layout : kLayouts) {
          for (const int64_t m : {1, 3, 19}) {
            const Tensor a = make(m, 67, Layout2d::kRows, x, 3), b = make(67, 35, layout, y, 4);
            expect_matches_reference(a, b, cat(to_string(x), " x ", to_string(y), ", m ", m));
          }
        }
      }
    }
  });
}

TEST(CpuMatmul, TakesAnyLayoutOfA) {
  on_every_target([](const std::string&) {
    for (const Layout2d left : kLayouts) {
      for (const Layout2d right : kLayouts) {
        for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
          expect_matches_reference(make(21, 70, left, dtype, 5), make(70, 37, right, dtype, 6), "layouts");
        }
      }
    }
    const Tensor flipped = flip(randn({6, 40}, 7), {1});
    expect_matches_reference(flipped, flip(randn({40, 9}, 8), {0}), "negative strides");
  });
}

TEST(CpuMatmul, BroadcastsBatches) {
  const Tensor a = randn({3, 2, 5, 33}, 9), b = randn({3, 1, 33, 19}, 10), shared = randn({33, 19}, 11);
  expect_matches_reference(a, b, "one b for several a");
  expect_matches_reference(a, shared, "weights");
  expect_matches_reference(randn({1, 2, 1, 33}, 12), shared, "single rows");
  expect_matches_reference(permute(a, {1, 2, 0, 3}), shared, "rows with gaps");
  expect_matches_reference(a, transpose(randn({2, 19, 33}, 13), -1, -2), "batch of transposed");
  expect_matches_reference(randn({5, 33}, 14), b, "one a for several b");
}

TEST(CpuMatmul, EmptyDimensions) {
  on_every_target([](const std::string&) {
    expect_identical(matmul(zeros({3, 0}), zeros({0, 4})), zeros({3, 4}), "k = 0");
    EXPECT_EQ(matmul(zeros({0, 3}), zeros({3, 4})).shape(), (Shape{0, 4}));
    EXPECT_EQ(matmul(zeros({2, 3}), zeros({3, 0})).shape(), (Shape{2, 0}));
    EXPECT_EQ(matmul(zeros({0, 2, 3}), zeros({3, 4})).shape(), (Shape{0, 2, 4}));
  });
}

TEST(CpuMatmul, InfinityAndNanStayInTheirRowsAndColumns) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  on_every_target([&](const std::string&) {
    for (const Layout2d layout : {Layout2d::kRows, Layout2d::kColumns}) {
      for (const int64_t m : {1, 4, 15}) {
        const Tensor a = ones({m, 37}), b = ones({37, 21});
        a.mutable_data<float>()[36] = inf;
        b.mutable_data<float>()[3] = nan;
        b.mutable_data<float>()[5] = -inf;
        const Tensor right = layout == Layout2d::kRows ? b : transpose(transpose(b, 0, 1).contiguous(), 0, 1);
        expect_matches_reference(a, right, "specials");
      }
    }
  });
}

TEST(CpuMatmul, ARowDoesNotDependOnItsNeighbours) {
  on_every_target([](const std::string&) {
    for (const Layout2d layout : kLayouts) {
      for (const auto& [x, y] : {std::pair{DType::kF32, DType::kF32},
                                 {DType::kF32, DType::kBF16},
                                 {DType::kF16, DType::kF16},
                                 {DType::kF64, DType::kF64}}) {
        const Tensor a = randn({40, 530}, 15, x), b = make(530, 51, layout, y, 16);
        std::vector<Tensor> alone;
        for (int64_t i = 0; i < 40; ++i) alone.push_back(matmul(narrow(a, 0, i, 1), b));
        for (int64_t m = 1; m <= 40; ++m) {
          const Tensor all = matmul(narrow(a, 0, 0, m), b);
          for (int64_t i = m == 40 ? 0 : m - 1; i < m; ++i) {
            expect_identical(narrow(all, 0, i, 1), alone[i], cat("row ", i, " of ", m));
          }
        }
      }
    }
  });
}

TEST(CpuMatmul, LargeProductsKeepRowsToo) {
  for (const Layout2d layout : {Layout2d::kRows, Layout2d::kColumns}) {
    const Tensor a = randn({777, 1100}, 17), b = make(1100, 300, layout, DType::kF32, 18);
    const Tensor all = matmul(a, b);
    for (const int64_t i : {0, 5, 191, 192, 256, 500, 776}) {
      expect_identical(narrow(all, 0, i, 1), matmul(narrow(a, 0, i, 1), b), cat("row ", i));
    }
    const Tensor batched = reshape(a, {7, 111, 1100});
    expect_identical(reshape(matmul(batched, b), {777, 300}), all, "folded batch");
  }
}

TEST(CpuMatmul, ThreadsDoNotChangeTheResult) {
  for (const Layout2d layout : kLayouts) {
    for (const int64_t m : {1, 4, 70}) {
      const Tensor a = randn({2, m, 600}, 19), b = make(600, 333, layout, DType::kF32, 20);
      Tensor first;
      for (const int threads : {1, 2, 3, 4}) {
        const Threads scope(threads);
        const Tensor out = matmul(a, b);
        if (threads == 1) first = out;
        expect_identical(out, first, cat(threads, " threads, m ", m));
      }
    }
  }
}

}  // namespace
}  // namespace wick
