// Reductions against the reference: every shape of reduction, accuracy of long sums, threads, rows.
#include <cmath>
#include <limits>

#include "support/kernel_cases.h"

namespace wick {
namespace {

using Reduction = Tensor (*)(const Tensor&, std::span<const int64_t>, bool);

const std::vector<std::pair<std::string, Reduction>>& reductions() {
  static const std::vector<std::pair<std::string, Reduction>> table = {
      {"sum", sum}, {"mean", mean}, {"max", max}, {"min", min}};
  return table;
}

double sum_tolerance(DType dtype) { return dtype == DType::kF32 ? 1e-5 : rounding_of(dtype) * 2; }

TEST(ReduceKernels, EveryDTypeOverEveryDimensionOfAwkwardViews) {
  on_every_target([](const std::string&) {
    for (const DType dtype : all_dtypes()) {
      for (const Tensor& x : awkward_views(17, 65, 3, dtype)) {
        for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
          for (const auto& [name, op] : reductions()) {
            const auto function = [&, op = op](const Inputs& in) { return op(in[0], dims, false); };
            expect_like_reference(function, {x}, sum_tolerance(dtype), name + " " + std::string(to_string(dtype)));
          }
          if (!is_float(dtype)) continue;
          const auto variance = [&](const Inputs& in) { return var(in[0], dims, 1, true); };
          expect_like_reference(variance, {x}, sum_tolerance(dtype), "var");
        }
      }
    }
  });
}

TEST(ReduceKernels, AwkwardShapesAndDims) {
  struct Case {
    Shape shape;
    std::vector<int64_t> dims;
  };
  const std::vector<Case> cases = {
      {{1}, {0}},
      {{3}, {0}},
      {{4099}, {0}},
      {{70001}, {0}},
      {{5, 4097}, {1}},
      {{9, 8193}, {1}},
      {{4099, 3}, {0}},
      {{70001, 2}, {0}},
      {{1000, 1}, {0}},
      {{131, 700}, {0}},
      {{300, 129}, {0}},
      {{7, 5, 3}, {1}},
      {{7, 5, 3}, {0, 2}},
      {{2, 300, 40}, {1}},
      {{3, 1, 257}, {1}},
      {{6, 4, 5, 300}, {0, 2}},
      {{6, 4, 5, 30}, {1, 3}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{513, 7}, {1}},
      {{2, 200, 9}, {1}},
  };
  for (const Case& c : cases) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kU8}) {
      const Tensor x = sample(c.shape, 11, dtype);
      for (const auto& [name, op] : reductions()) {
        expect_like_reference([&, op = op](const Inputs& in) { return op(in[0], c.dims, false); }, {x},
                              sum_tolerance(dtype), name + " of " + to_string(c.shape));
      }
      if (is_float(dtype) && c.shape.numel() > 1) {
        expect_like_reference([&](const Inputs& in) { return var(in[0], c.dims, 0, false); }, {x}, sum_tolerance(dtype),
                              "var of " + to_string(c.shape));
      }
    }
  }
}

TEST(ReduceKernels, EmptySumsAreZero) {
  EXPECT_EQ(sum(zeros({3, 0}), {1}).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(sum(zeros({0, 3}), {1}).numel(), 0);
}

TEST(ReduceKernels, LongSumsAreAccurate) {
  const Tensor x = add(rand({3000000}, 4), 1000.0);
  const double exact = sum(x.to_dtype(DType::kF64)).item();
  EXPECT_NEAR(sum(x).item() / exact, 1, 1e-7);
  const Tensor columns = reshape(x, {1000000, 3});
  expect_close(sum(columns, {0}), sum(columns.to_dtype(DType::kF64), {0}).to_dtype(DType::kF32), 2e-7, "columns");
  // A spread of 1/12 on top of 1000.
  EXPECT_NEAR(var(x).item() / var(x.to_dtype(DType::kF64)).item(), 1, 1e-4);
}

TEST(ReduceKernels, NaNSpreadsToMaxAndMin) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  on_every_target([&](const std::string&) {
    for (const int64_t size : {1, 5, 64, 67, 300, 5000}) {
      for (const int64_t at : {int64_t{0}, size / 2, size - 1}) {
        Tensor x = sample({size}, 1, DType::kF32);
        x.mutable_data<float>()[at] = nan;
        EXPECT_TRUE(std::isnan(max(x).item())) << size << " " << at;
        EXPECT_TRUE(std::isnan(min(x).item())) << size << " " << at;
        const Tensor column = broadcast_as(unsqueeze(x, 1), {size, 3}).contiguous();
        EXPECT_TRUE(std::isnan(max(column, {0}).to_vector<float>()[1])) << size << " " << at;
        x.mutable_data<float>()[at] = infinity;
        EXPECT_EQ(max(x).item(), infinity);
        EXPECT_LT(min(neg(x)).item(), -1e30);
      }
    }
  });
}

TEST(ReduceKernels, SameBitsForAnyThreadsAndAnyNumberOfRows) {
  const Tensor x = sample({37, 9001}, 2, DType::kF32);
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
    expect_same_for_any_threads([&] { return sum(x, dims); }, "sum");
    expect_same_for_any_threads([&] { return var(x, dims); }, "var");
    expect_same_for_any_threads([&] { return max(transpose(x, 0, 1), dims); }, "max");
  }
  expect_same_for_any_threads([&] { return sum(reshape(x, {9001 * 37})); }, "sum of all");
  expect_same_for_any_threads(
      [&] {
        return sum(reshape(narrow(reshape(x, {37 * 9001}), 0, 0, 300000), {100000, 3}), {0});
      },
      "columns");
  const Tensor sums = sum(x, {1}), variances = var(x, {1});
  for (const int64_t row : {0, 5, 36}) {
    expect_identical(sum(narrow(x, 0, row, 1), {1}), narrow(sums, 0, row, 1), "sum of one row");
    expect_identical(var(narrow(x, 0, row, 1), {1}), narrow(variances, 0, row, 1), "var of one row");
  }
}

TEST(ReduceKernels, ArgMaxAndArgMin) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : all_dtypes()) {
    for (const Tensor& x : awkward_views(17, 131, 3, dtype)) {
      for (const int64_t dim : {0, 1}) {
        expect_like_reference([&](const Inputs& in) { return argmax(in[0], dim); }, {x}, 0, "argmax");
        expect_like_reference([&](const Inputs& in) { return argmin(in[0], dim); }, {x}, 0, "argmin");
      }
    }
    if (!is_float(dtype)) continue;
    const Tensor special = tensor<double>({{1, nan, 3, nan}, {0.0, -0.0, 0.0, -1}, {nan, 5, 6, 7}}).to_dtype(dtype);
    for (const int64_t dim : {0, 1}) {
      expect_like_reference([&](const Inputs& in) { return argmax(in[0], dim); }, {special}, 0, "argmax");
      expect_like_reference([&](const Inputs& in) { return argmin(in[0], dim); }, {special}, 0, "argmin");
    }
  }
  const Tensor x = sample({3, 5000}, 9, DType::kF32);
  expect_like_reference([&](const Inputs& in) { return argmax(in[0], 1); }, {x}, 0, "argmax");
}

TEST(ReduceKernels, CumulativeSum) {
  for (const DType dtype : all_dtypes()) {
    for (const Tensor& x : awkward_views(13, 67, 4, dtype)) {
      for (const int64_t dim : {0, 1}) {
        expect_like_reference([&](const Inputs& in) { return cumsum(in[0], dim); }, {x}, 0, "cumsum");
      }
    }
  }
  const Tensor x = sample({2, 5000, 3}, 9, DType::kF32);
  for (const int64_t dim : {0, 1, 2}) {
    expect_like_reference([&](const Inputs& in) { return cumsum(in[0], dim); }, {x}, 0, "cumsum");
    expect_same_for_any_threads([&] { return cumsum(x, dim); }, "cumsum");
  }
}

TEST(ReduceKernels, StreamedCumsumEqualsRowsAlone) {
  const Tensor x = rand({8209, 1040}, 1), all = cumsum(x, 1);
  for (const int64_t row : {0, 15, 16, 4000, 8207, 8208}) {
    expect_identical(cumsum(narrow(x, 0, row, 1), 1), narrow(all, 0, row, 1), "cumsum");
  }
}

}  // namespace
}  // namespace wick
