// softmax and log_softmax against the reference.
#include <limits>

#include "support/kernel_cases.h"

namespace wick {
namespace {

const Function kSoftmax[] = {
    [](const Inputs& in) { return softmax(in[0], 0); },
    [](const Inputs& in) { return softmax(in[0], 1); },
    [](const Inputs& in) { return log_softmax(in[0], 0); },
    [](const Inputs& in) { return log_softmax(in[0], 1); },
};

TEST(SoftmaxKernels, EveryFloatAndAwkwardView) {
  on_every_target([](const std::string&) {
    for (const DType dtype : float_dtypes()) {
      for (const Tensor& x : awkward_views(17, 67, 3, dtype)) {
        for (const auto& function : kSoftmax) expect_like_reference(function, {x}, rounding_of(dtype), "softmax");
      }
    }
  });
}

TEST(SoftmaxKernels, AwkwardShapes) {
  const Shape shapes[] = {{0, 5},    {5, 0},    {1, 1},    {3, 1},    {1, 3},
                          {2, 4097}, {4097, 2}, {70, 300}, {300, 70}, {2, 9000}};
  for (const Shape& shape : shapes) {
    for (const auto& function : kSoftmax) {
      expect_like_reference(function, {mul(sample(shape, 7, DType::kF32), 5.0)}, 3e-6, to_string(shape));
    }
  }
  const Tensor deep = sample({3, 5, 7, 4}, 1, DType::kF32);
  for (const int64_t dim : {0, 1, 2, 3}) {
    expect_like_reference([&](const Inputs& in) { return softmax(in[0], dim); }, {deep}, 2e-6, "deep");
    expect_like_reference(
        [&](const Inputs& in) {
          return log_softmax(permute(in[0], {2, 0, 3, 1}), dim);
        },
        {deep}, 2e-6, "permuted");
  }
}

TEST(SoftmaxKernels, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = tensor<float>({{1, 2, -infinity, 4},
                                  {-infinity, -infinity, -infinity, -infinity},
                                  {0, nan, 1, 2},
                                  {infinity, 0, 1, 2},
                                  {1000, 900, -1000, 3e38f}});
  for (const auto& function : kSoftmax) expect_like_reference(function, {x}, 2e-6, "special values");
}

TEST(SoftmaxKernels, RowsDoNotDependOnThreadsOrOtherRows) {
  const Tensor x = sample({50, 5001}, 3, DType::kF32);
  expect_same_for_any_threads([&] { return softmax(x, 1); }, "rows");
  expect_same_for_any_threads([&] { return softmax(x, 0); }, "columns");
  expect_same_for_any_threads([&] { return log_softmax(x, 1); }, "log rows");
  const Tensor all = softmax(x, 1), across = softmax(x, 0);
  for (const int64_t row : {0, 7, 49}) {
    expect_identical(softmax(narrow(x, 0, row, 1), 1), narrow(all, 0, row, 1), "one row");
    expect_identical(softmax(narrow(x, 1, row * 100, 3), 0), narrow(across, 1, row * 100, 3), "three columns");
  }
}

// Results beyond the last-level cache take another path, with the same bits.
TEST(SoftmaxKernels, StreamedRowsEqualRowsAlone) {
  const Tensor x = rand({8209, 1024}, 3);
  const Tensor all = softmax(x, 1), logs = log_softmax(x, 1), normal = layer_norm(x, Tensor(), Tensor(), 1e-5f);
  for (const int64_t row : {0, 1, 15, 16, 4000, 8208}) {
    const Tensor alone = narrow(x, 0, row, 1);
    expect_identical(softmax(alone, 1), narrow(all, 0, row, 1), "softmax");
    expect_identical(log_softmax(alone, 1), narrow(logs, 0, row, 1), "log_softmax");
    expect_identical(layer_norm(alone, Tensor(), Tensor(), 1e-5f), narrow(normal, 0, row, 1), "layer_norm");
  }
}

TEST(SoftmaxKernels, StreamedColumnsEqualColumnsAlone) {
  const Tensor x = rand({9, 1024, 1024}, 3);
  const Tensor all = softmax(x, 1), logs = log_softmax(x, 1);
  for (const int64_t at : {0, 4, 8}) {
    const Tensor alone = narrow(x, 0, at, 1);
    expect_identical(softmax(alone, 1), narrow(all, 0, at, 1), "softmax");
    expect_identical(log_softmax(alone, 1), narrow(logs, 0, at, 1), "log_softmax");
  }
}

}  // namespace
}  // namespace wick
