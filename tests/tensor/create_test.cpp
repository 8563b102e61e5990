#include "tensor/create.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"

namespace wick {
namespace {

class CreateTest : public OnEveryDevice {};

TEST_P(CreateTest, FromNestedInitialisersAndSpans) {
  const Tensor x = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}, device());
  EXPECT_EQ(x.shape(), Shape({2, 3}));
  EXPECT_EQ(x.dtype(), DType::kF32);
  EXPECT_EQ(x.device(), device());
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensor({1, 2, 3}).dtype(), DType::kI32);
  EXPECT_EQ(tensor({{{1.0}, {2.0}}}).shape(), Shape({1, 2, 1}));
  const std::vector<int64_t> values = {7, 8};
  EXPECT_EQ(from_vector(values, {2, 1}, device()).to_vector<int64_t>(), values);
  EXPECT_ERROR(from_vector(values, {3}), kShape, "from_span: 2 values for shape [3]");
  EXPECT_ERROR(tensor({{1, 2}, {3}}), kShape, "rows of different sizes, [2] and [1]");
}

TEST_P(CreateTest, FullArangeAndItem) {
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kI64, DType::kU8, DType::kI8}) {
    EXPECT_EQ(full({3, 2}, 7, dtype, device()).to_vector<double>(), std::vector<double>(6, 7.0));
  }
  EXPECT_EQ(arange(1, 2, 0.25, DType::kF64, device()).to_vector<double>(), (std::vector<double>{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(arange(5, 0, -2, DType::kI32, device()).to_vector<int32_t>(), (std::vector<int32_t>{5, 3, 1}));
  EXPECT_EQ(arange(3, 3).numel(), 0);
  EXPECT_ERROR(arange(0, 1, 0), kInvalidArgument, "arange: from 0 to 1 in steps of 0");
  EXPECT_EQ(scalar(2.5, DType::kF32, device()).item(), 2.5);
  EXPECT_ERROR(zeros({2}).item(), kShape, "item: expected a tensor of one element, got [2]");
  EXPECT_ERROR(Tensor().item(), kShape, "an empty one");
}

TEST_P(CreateTest, RandomNumbersAreReproducibleAndRight) {
  const Tensor uniform = rand({100000}, 42, DType::kF32, device());
  expect_identical(uniform, rand({100000}, 42), "same seed");
  EXPECT_NE(uniform.to_vector<float>(), rand({100000}, 43).to_vector<float>());
  double sum = 0, least = 1, most = 0;
  for (const float value : uniform.to_vector<float>()) {
    sum += value;
    least = std::min<double>(least, value);
    most = std::max<double>(most, value);
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
  EXPECT_GE(least, 0);
  EXPECT_LT(most, 1);
  double mean = 0, square = 0, fourth = 0;
  for (const double value : randn({100000}, 1, DType::kF64, device()).to_vector<double>()) {
    mean += value / 1e5;
    square += value * value / 1e5;
    fourth += value * value * value * value / 1e5;
  }
  EXPECT_NEAR(mean, 0, 0.015);
  EXPECT_NEAR(square, 1, 0.02);
  EXPECT_NEAR(fourth, 3, 0.15);
  for (const float value : rand({10000}, 5, DType::kBF16).to_vector<float>()) ASSERT_LT(value, 1);
  EXPECT_ERROR(rand({2}, 1, DType::kI32), kDType, "rand: dtype i32 is not a floating type");
}

WICK_ON_EVERY_DEVICE(CreateTest);

TEST(Print, SmallTensorsWholeLargeOnesByTheirCorners) {
  EXPECT_EQ(to_string(tensor({{1, 2}, {30, 4}})), "[[ 1,  2],\n [30,  4]]\ni32 [2, 2] on cpu");
  EXPECT_EQ(to_string(scalar(0.5)), "0.5\nf32 [] on cpu");
  EXPECT_EQ(to_string(zeros({0, 3})), "[]\nf32 [0, 3] on cpu");
  EXPECT_EQ(to_string(Tensor()), "tensor(empty)");
  const std::string large = to_string(arange(0, 10000, 1, DType::kI64));
  EXPECT_NE(large.find("[   0,    1,    2, ..., 9997, 9998, 9999]"), std::string::npos) << large;
  EXPECT_LT(to_string(zeros({100, 100})).size(), 800u);
}

}  // namespace
}  // namespace wick
