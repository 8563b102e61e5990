// sort and topk against the reference: values, stable order, special values.
#include <chrono>
#include <limits>

#include "support/kernel_cases.h"

namespace wick {
namespace {

void expect_sorted_alike(const std::function<Sorted(const Tensor&)>& function, const Tensor& x,
                         const std::string& what) {
  const Sorted want = function(on_reference(x));
  for (const Device device : tuned_devices()) {
    const Sorted got = function(moved(x, device));
    expect_close(got.values, want.values, 0, cat(what, " values on ", device));
    expect_close(got.indices, want.indices, 0, cat(what, " indices on ", device));
  }
}

TEST(SortKernels, EveryDTypeAndAwkwardView) {
  for (const DType dtype : all_dtypes()) {
    for (const Tensor& x : awkward_views(19, 67, 3, dtype)) {
      for (const int64_t dim : {0, 1}) {
        for (const bool down : {false, true}) {
          expect_sorted_alike([&](const Tensor& t) { return sort(t, dim, down); }, x, "sort");
          for (const int64_t k : {1, 2, 9, 19}) {
            expect_sorted_alike([&](const Tensor& t) { return topk(t, k, dim, down); }, x, "topk");
          }
        }
      }
    }
  }
}

TEST(SortKernels, LongLinesWithManyTies) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI64, DType::kU8}) {
    const Tensor x = sample({2, 5003}, 4, dtype);
    const Tensor ties = is_float(dtype) ? floor(x) : x;
    for (const bool down : {false, true}) {
      for (const Tensor& line : {x, ties}) {
        expect_sorted_alike([&](const Tensor& t) { return sort(t, 1, down); }, line, "sort");
        for (const int64_t k : {0, 1, 50, 900, 1500, 5003}) {
          expect_sorted_alike([&](const Tensor& t) { return topk(t, k, 1, down); }, line, "topk");
        }
      }
    }
  }
}

TEST(SortKernels, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = tensor<float>({0.f, -0.f, nan, infinity, -infinity, 1.f, -nan, -0.f, 0.f, 1e-45f, -1e-45f, nan});
  for (const bool down : {false, true}) {
    expect_sorted_alike([&](const Tensor& t) { return sort(t, 0, down); }, x, "sort");
    expect_sorted_alike([&](const Tensor& t) { return topk(t, 3, 0, down); }, x, "topk");
  }
  const Tensor extremes =
      tensor<int64_t>({std::numeric_limits<int64_t>::min(), 0, std::numeric_limits<int64_t>::max()});
  expect_sorted_alike([&](const Tensor& t) { return sort(t, 0, true); }, extremes, "sort");
}

TEST(SortKernels, SameForAnyNumberOfThreads) {
  const Tensor x = sample({40, 3000}, 1, DType::kF32);
  expect_same_for_any_threads([&] { return sort(x, 1, false).indices; }, "sort");
  expect_same_for_any_threads([&] { return topk(x, 7, 0, true).indices; }, "topk");
}

}  // namespace
}  // namespace wick
