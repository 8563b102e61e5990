#include <gtest/gtest.h>

#include <limits>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "support/finite_difference.h"
#include "tensor/create.h"

namespace wick {
namespace {

class Upsample : public OnEveryDevice {
 protected:
  Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::kF64) const {
    return randn(shape, seed, dtype, device());
  }
  Tensor row(std::initializer_list<double> values) const {
    return reshape(tensor<double>(values, device()), {1, 1, 1, -1});
  }
};

TEST_P(Upsample, NearestByHand) {
  EXPECT_EQ(upsample_nearest2d_by(row({1, 2}), {2, 3}).to_vector<double>(),
            (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(upsample_nearest2d(row({1, 2, 3}), {1, 5}).to_vector<double>(), (std::vector<double>{1, 1, 2, 2, 3}));
  EXPECT_EQ(upsample_nearest2d(row({1, 2, 3, 4, 5}), {1, 2}).to_vector<double>(), (std::vector<double>{1, 3}));
}

TEST_P(Upsample, BilinearByHand) {
  expect_close(upsample_bilinear2d(row({1, 2}), {1, 4}), row({1, 1.25, 1.75, 2}), 1e-15, "pixel centres");
  expect_close(upsample_bilinear2d(row({1, 2, 4}), {1, 5}, true), row({1, 1.5, 2, 3, 4}), 1e-15, "corners");
  expect_close(upsample_bilinear2d(row({7, 8}), {1, 1}, true), row({7}), 1e-15, "one pixel");
}

TEST_P(Upsample, BicubicByHand) {
  // Half-way weights are (-3, 19, 19, -3) / 32 for a = -0.75; corner positions are exact.
  expect_close(upsample_bicubic2d(row({1, 2, 4, 8}), {1, 7}, true),
               row({1, (-3 * 1 + 19 * 1 + 19 * 2 - 3 * 4) / 32.0, 2, (-3 * 1 + 19 * 2 + 19 * 4 - 3 * 8) / 32.0, 4,
                    (-3 * 2 + 19 * 4 + 19 * 8 - 3 * 8) / 32.0, 8}),
               1e-14, "corners");
  expect_close(upsample_bicubic2d(row({3, 3, 3}), {4, 8}), full({1, 1, 4, 8}, 3, DType::kF64), 1e-14, "constant");
}

TEST_P(Upsample, SameSizeIsIdentity) {
  const Tensor x = random({2, 3, 5, 6}, 1);
  expect_identical(upsample_nearest2d(x, {5, 6}), x, "nearest");
  expect_close(upsample_bilinear2d(x, {5, 6}), x, 1e-14, "bilinear");
  expect_close(upsample_bicubic2d(x, {5, 6}), x, 1e-14, "bicubic");
}

TEST_P(Upsample, Gradients) {
  for (const Pair2d size : {Pair2d(7, 9), Pair2d(3, 11), Pair2d(1, 2)}) {
    const std::vector<Tensor> in = {random({2, 2, 4, 5}, 1)};
    expect_gradients([&](const auto& v) { return upsample_nearest2d(v[0], size); }, in, "nearest");
    for (const bool corners : {false, true}) {
      expect_gradients([&](const auto& v) { return upsample_bilinear2d(v[0], size, corners); }, in, "bilinear");
      expect_gradients([&](const auto& v) { return upsample_bicubic2d(v[0], size, corners); }, in, "bicubic");
    }
  }
}

TEST_P(Upsample, EveryFloatTypeAndLayout) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const double tolerance = dtype == DType::kF64   ? 1e-14
                             : dtype == DType::kF32 ? 2e-6
                             : dtype == DType::kF16 ? 1e-3
                                                    : 8e-3;
    const Tensor x = permute(random({2, 6, 7, 3}, 1, dtype), {0, 3, 1, 2});
    const Tensor exact = x.to_device(Device::reference()).to_dtype(DType::kF64);
    expect_close(upsample_nearest2d(x, {13, 5}), upsample_nearest2d(exact, {13, 5}), 0, "nearest");
    expect_close(upsample_bilinear2d(x, {13, 37}), upsample_bilinear2d(exact, {13, 37}), tolerance, "bilinear");
    expect_close(upsample_bicubic2d(x, {5, 21}), upsample_bicubic2d(exact, {5, 21}), tolerance, "bicubic");
    EXPECT_EQ(upsample_bicubic2d(x, {5, 21}).dtype(), dtype);
  }
}

TEST_P(Upsample, EmptyBatch) {
  const Var x(zeros({0, 3, 4, 4}, DType::kF32, device()));
  const Tensor out = upsample_bilinear2d(x, {8, 9});
  EXPECT_EQ(out.shape(), (Shape{0, 3, 8, 9}));
  EXPECT_EQ(backward(sum(out)).of(x).shape(), (Shape{0, 3, 4, 4}));
}

TEST_P(Upsample, SaysWhatIsWrong) {
  const Tensor x = zeros({1, 2, 4, 5}, DType::kF32, device());
  expect_error(
      [&] {
        upsample_bilinear2d(x, {0, 3});
      },
      ErrorCode::kInvalidArgument, "upsample_bilinear2d: output size 0 x 3 is empty");
  expect_error([&] { upsample_bicubic2d(narrow(x, 2, 0, 0), 3); }, ErrorCode::kShape,
               "upsample_bicubic2d: x [1, 2, 0, 5] has no pixels");
  expect_error([&] { upsample_nearest2d(squeeze(x, 0), 3); }, ErrorCode::kShape,
               "upsample_nearest2d: x has shape [2, 4, 5], expected rank 4");
  expect_error(
      [&] {
        upsample_nearest2d_by(x, {0, 2});
      },
      ErrorCode::kInvalidArgument, "upsample_nearest2d: scale 0 x 2 for x [1, 2, 4, 5]");
  expect_error([&] { upsample_nearest2d_by(x, std::numeric_limits<int64_t>::max()); }, ErrorCode::kInvalidArgument,
               "upsample_nearest2d: scale 9223372036854775807 x 9223372036854775807 for x [1, 2, 4, 5]");
  expect_error([&] { upsample_bilinear2d(x.to_dtype(DType::kI64), 3); }, ErrorCode::kDType,
               "upsample_bilinear2d: dtype i64 is not a floating type; convert with to_dtype first");
}

WICK_ON_EVERY_DEVICE(Upsample);

}  // namespace
}  // namespace wick
