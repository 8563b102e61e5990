#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "support/finite_difference.h"
#include "tensor/create.h"

namespace wick {
namespace {

class Pool : public OnEveryDevice {
 protected:
  Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::kF64) const {
    return randn(shape, seed, dtype, device());
  }
};

struct Window {
  Shape x;
  Pair2d kernel, stride;
};

const std::vector<Window>& windows() {
  static const std::vector<Window> all = {
      {{2, 3, 6, 6}, 2, 2},           {{1, 2, 7, 5}, 3, 2},  // overlapping, with a rest
      {{1, 2, 8, 9}, {2, 3}, {3, 4}},                        // gaps between windows
      {{1, 1, 4, 5}, {4, 5}, 1},                             // the whole plane
      {{2, 2, 3, 3}, 1, 2},
  };
  return all;
}

TEST_P(Pool, OneByHand) {
  const Tensor x = reshape(arange(0, 12, 1, DType::kF32, device()), {1, 1, 3, 4});
  EXPECT_EQ(avg_pool2d(x, 2).to_vector<float>(), (std::vector<float>{2.5f, 4.5f}));
  EXPECT_EQ(max_pool2d(x, {2, 3}, 1).to_vector<float>(), (std::vector<float>{6, 7, 10, 11}));
}

TEST_P(Pool, Gradients) {
  for (const Window& w : windows()) {
    const auto mean = [&](const std::vector<Tensor>& in) { return avg_pool2d(in[0], w.kernel, w.stride); };
    const auto most = [&](const std::vector<Tensor>& in) { return max_pool2d(in[0], w.kernel, w.stride); };
    expect_gradients(mean, {random(w.x, 1)}, "avg_pool2d " + to_string(w.x));
    expect_gradients(most, {random(w.x, 1)}, "max_pool2d " + to_string(w.x));
  }
}

TEST_P(Pool, FirstOfEqualMaximaGetsTheGradient) {
  const Var x(ones({1, 1, 2, 4}, DType::kF32, device()));
  EXPECT_EQ(backward(sum(max_pool2d(x, 2))).of(x).to_vector<float>(), (std::vector<float>{1, 0, 1, 0, 0, 0, 0, 0}));
}

TEST_P(Pool, NaNIsTheMaximum) {
  const Tensor x = reshape(tensor<float>({1, NAN, 3, 4, 5, 6, 7, 8}, device()), {1, 1, 2, 4});
  const auto out = max_pool2d(x, 2).to_vector<float>();
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 8);
}

TEST_P(Pool, EveryFloatType) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const double tolerance = dtype == DType::kF64 ? 1e-14 : dtype == DType::kF32 ? 1e-6 : 8e-3;
    for (const Window& w : windows()) {
      const Tensor x = random(w.x, 1, dtype), exact = x.to_device(Device::reference()).to_dtype(DType::kF64);
      EXPECT_EQ(avg_pool2d(x, w.kernel, w.stride).dtype(), dtype);
      expect_close(avg_pool2d(x, w.kernel, w.stride), avg_pool2d(exact, w.kernel, w.stride), tolerance, "avg_pool2d");
      expect_close(max_pool2d(x, w.kernel, w.stride), max_pool2d(exact, w.kernel, w.stride), 0, "max_pool2d");
    }
  }
}

TEST_P(Pool, StridedInputsAndEmptyBatch) {
  const Tensor x = permute(random({2, 5, 6, 3}, 1), {0, 3, 1, 2});
  expect_identical(avg_pool2d(x, 2, 1), avg_pool2d(x.contiguous(), 2, 1), "avg_pool2d");
  expect_identical(max_pool2d(x, 2, 1), max_pool2d(x.contiguous(), 2, 1), "max_pool2d");
  EXPECT_EQ(avg_pool2d(random({0, 3, 4, 4}, 1), 2).shape(), (Shape{0, 3, 2, 2}));
  EXPECT_EQ(max_pool2d(random({0, 3, 4, 4}, 1), 2).shape(), (Shape{0, 3, 2, 2}));
}

TEST_P(Pool, SaysWhatIsWrong) {
  const Tensor x = zeros({1, 2, 4, 5}, DType::kF32, device());
  expect_error([&] { avg_pool2d(x, 5); }, ErrorCode::kShape,
               "avg_pool2d: x [1, 2, 4, 5] is smaller than the kernel 5 x 5");
  expect_error(
      [&] {
        max_pool2d(x, 2, {0, 1});
      },
      ErrorCode::kInvalidArgument, "max_pool2d: kernel 2 x 2, stride 0 x 1: all must be at least 1");
  expect_error(
      [&] {
        max_pool2d(reshape(narrow(x, 1, 0, 1), {4, 5}), 2);
      },
      ErrorCode::kShape, "max_pool2d: x has shape [4, 5], expected rank 4");
  expect_error([&] { avg_pool2d(x.to_dtype(DType::kU8), 2); }, ErrorCode::kDType,
               "avg_pool2d: dtype u8 is not a floating type; convert with to_dtype first");
  expect_error([&] { max_pool2d({}, 2); }, ErrorCode::kInvalidArgument,
               "max_pool2d: an input tensor is empty (never assigned)");
}

WICK_ON_EVERY_DEVICE(Pool);

}  // namespace
}  // namespace wick
