#include <gtest/gtest.h>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "support/finite_difference.h"
#include "tensor/create.h"

namespace wick {
namespace {

class Conv : public OnEveryDevice {
 protected:
  Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::kF64) const {
    return randn(shape, seed, dtype, device());
  }
};

TEST_P(Conv, OneByHand) {
  const Tensor x = reshape(tensor<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, device()), {1, 1, 3, 3});
  const Tensor weight = reshape(tensor<float>({1, 10, 100, 1000}, device()), {1, 1, 2, 2});
  const Tensor out = conv2d(x, weight, tensor<float>({0.5f}, device()));
  EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{5421.5f, 6532.5f, 8754.5f, 9865.5f}));
  const Tensor back = conv_transpose2d(narrow(narrow(x, 2, 0, 1), 3, 0, 2), weight, {}, {.stride = {1, 2}});
  EXPECT_EQ(back.shape(), (Shape{1, 1, 2, 4}));
  EXPECT_EQ(back.to_vector<float>(), (std::vector<float>{1, 10, 2, 20, 100, 1000, 200, 2000}));
}

struct Setting {
  Shape x, weight;
  Conv2dOptions options;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      {{2, 3, 5, 6}, {4, 3, 3, 2}, {}},
      {{1, 2, 8, 7}, {3, 2, 3, 3}, {.stride = 3, .padding = 2}},
      {{1, 2, 9, 8}, {2, 2, 3, 2}, {.stride = {2, 3}, .padding = {0, 3}, .dilation = 2}},
      {{2, 4, 5, 5}, {6, 2, 3, 3}, {.stride = 2, .padding = 1, .dilation = {1, 2}, .groups = 2}},
      {{1, 3, 6, 5}, {3, 1, 3, 3}, {.padding = 1, .groups = 3}},  // depthwise
      {{1, 2, 4, 4}, {4, 1, 2, 2}, {.stride = 2, .groups = 2}},   // depthwise with a multiplier
      {{2, 5, 3, 4}, {3, 5, 1, 1}, {}},                           // 1x1
      {{1, 3, 7, 7}, {2, 3, 1, 1}, {.stride = 3}},                // 1x1 that skips pixels
      {{1, 1, 2, 2}, {1, 1, 5, 5}, {.padding = {2, 3}}},          // kernel larger than the image
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {.stride = 2, .padding = 3}},  // windows wholly in the padding
  };
  return all;
}

TEST_P(Conv, GradientsAtAwkwardSettings) {
  for (const Setting& s : settings()) {
    const auto run = [&](const std::vector<Tensor>& in) { return conv2d(in[0], in[1], in[2], s.options); };
    expect_gradients(run, {random(s.x, 1), random(s.weight, 2), random({s.weight[0]}, 3)},
                     "conv2d " + to_string(s.x) + " " + to_string(s.weight));
  }
}

TEST_P(Conv, TransposeGradientsAtAwkwardSettings) {
  struct TransposeSetting {
    Shape x, weight;
    ConvTranspose2dOptions options;
  };
  const std::vector<TransposeSetting> all = {
      {{2, 3, 4, 3}, {3, 2, 3, 2}, {}},
      {{1, 2, 3, 4}, {2, 3, 3, 3}, {.stride = 3, .padding = 1, .output_padding = 2}},
      {{1, 4, 3, 3}, {4, 2, 2, 3}, {.stride = {2, 1}, .output_padding = {1, 1}, .dilation = 2, .groups = 2}},
      {{1, 3, 4, 4}, {3, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 3}},
      {{2, 3, 2, 3}, {3, 2, 1, 1}, {.stride = 2, .output_padding = 1}},
  };
  for (const TransposeSetting& s : all) {
    const auto run = [&](const std::vector<Tensor>& in) { return conv_transpose2d(in[0], in[1], in[2], s.options); };
    const int64_t channels = s.weight[1] * s.options.groups;
    expect_gradients(run, {random(s.x, 1), random(s.weight, 2), random({channels}, 3)},
                     "conv_transpose2d " + to_string(s.x) + " " + to_string(s.weight));
  }
}

// <conv(x), y> = <x, conv_transpose(y)>
TEST_P(Conv, TransposeIsTheAdjoint) {
  for (const Setting& s : settings()) {
    const Tensor x = random(s.x, 4), weight = random(s.weight, 5);
    const Tensor forward = conv2d(x, weight, {}, s.options), y = random(forward.shape(), 6);
    const auto& o = s.options;
    ConvTranspose2dOptions back{o.stride, o.padding, 0, o.dilation, o.groups};
    const Tensor least = conv_transpose2d(y, weight, {}, back);
    back.output_padding = {s.x[2] - least.dim(2), s.x[3] - least.dim(3)};
    const Tensor image = conv_transpose2d(y, weight, {}, back);
    ASSERT_EQ(image.shape(), s.x);
    EXPECT_NEAR(sum(mul(forward, y)).item(), sum(mul(x, image)).item(), 1e-9);
  }
}

TEST_P(Conv, OneDimensionIsHeightOne) {
  for (const int64_t groups : {1, 2}) {
    const Tensor x = random({2, 4, 13}, 7), weight = random({6, 4 / groups, 3}, 8), bias = random({6}, 9);
    const Tensor flat = conv1d(x, weight, bias, {.stride = 2, .padding = 3, .dilation = 2, .groups = groups});
    const Tensor wide = conv2d(unsqueeze(x, 2), unsqueeze(weight, 2), bias,
                               {.stride = {1, 2}, .padding = {0, 3}, .dilation = {1, 2}, .groups = groups});
    expect_identical(flat, squeeze(wide, 2), "conv1d");
    const Tensor weight_back = random({4, 6 / groups, 3}, 10);
    const Tensor flat_back = conv_transpose1d(
        x, weight_back, bias, {.stride = 3, .padding = 1, .output_padding = 1, .dilation = 2, .groups = groups});
    const Tensor wide_back = conv_transpose2d(
        unsqueeze(x, 2), unsqueeze(weight_back, 2), bias,
        {.stride = {1, 3}, .padding = {0, 1}, .output_padding = {0, 1}, .dilation = {1, 2}, .groups = groups});
    expect_identical(flat_back, squeeze(wide_back, 2), "conv_transpose1d");
  }
}

TEST_P(Conv, OneDimensionalGradients) {
  const auto forward = [](const std::vector<Tensor>& in) {
    return conv1d(in[0], in[1], in[2], {.stride = 2, .padding = 1, .dilation = 2});
  };
  expect_gradients(forward, {random({2, 3, 8}, 1), random({2, 3, 3}, 2), random({2}, 3)}, "conv1d");
  const auto back = [](const std::vector<Tensor>& in) {
    return conv_transpose1d(in[0], in[1], in[2], {.stride = 2, .padding = 1, .output_padding = 1});
  };
  expect_gradients(back, {random({2, 3, 5}, 1), random({3, 2, 4}, 2), random({2}, 3)}, "conv_transpose1d");
}

TEST_P(Conv, EveryFloatType) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const Tensor x = random({2, 3, 6, 7}, 1, dtype), weight = random({4, 3, 3, 3}, 2, dtype);
    const Tensor bias = random({4}, 3, dtype);
    const double tolerance = dtype == DType::kF64   ? 1e-13
                             : dtype == DType::kF32 ? 1e-5
                             : dtype == DType::kF16 ? 1e-3
                                                    : 8e-3;
    const auto exact = [](const Tensor& t) { return t.to_device(Device::reference()).to_dtype(DType::kF64); };
    const Tensor out = conv2d(x, weight, bias, {.stride = 2, .padding = 1});
    EXPECT_EQ(out.dtype(), dtype);
    expect_close(out, conv2d(exact(x), exact(weight), exact(bias), {.stride = 2, .padding = 1}), tolerance, "conv2d");
    const Tensor weight_back = random({3, 4, 2, 3}, 4, dtype);
    const Tensor back = conv_transpose2d(x, weight_back, bias, {.stride = 2});
    EXPECT_EQ(back.dtype(), dtype);
    expect_close(back, conv_transpose2d(exact(x), exact(weight_back), exact(bias), {.stride = 2}), tolerance,
                 "conv_transpose2d");
  }
}

TEST_P(Conv, MixedTypesPromote) {
  const Tensor x = random({1, 2, 5, 5}, 1, DType::kF32), weight = random({3, 2, 3, 3}, 2, DType::kBF16);
  const Tensor out = conv2d(x, weight);
  EXPECT_EQ(out.dtype(), DType::kF32);
  expect_close(out, conv2d(x, weight.to_dtype(DType::kF32)), 1e-6, "f32 x bf16");
  const Var weight_var(weight);
  EXPECT_EQ(backward(sum(conv2d(x, weight_var))).of(weight_var).dtype(), DType::kBF16);
}

TEST_P(Conv, StridedInputs) {
  const Tensor x = random({2, 5, 6, 3}, 1), weight = random({3, 3, 2, 4}, 2);
  const Tensor x_view = permute(x, {0, 3, 1, 2}), weight_view = permute(weight, {3, 0, 1, 2});
  expect_close(conv2d(x_view, weight_view), conv2d(x_view.contiguous(), weight_view.contiguous()), 1e-13, "conv2d");
  const Tensor flipped = flip(x_view, {2, 3}), wide = broadcast_as(narrow(x_view, 0, 0, 1), {4, 3, 5, 6});
  expect_close(conv2d(flipped, weight_view), conv2d(flipped.contiguous(), weight_view), 1e-13, "flipped");
  expect_close(conv2d(wide, weight_view), conv2d(wide.contiguous(), weight_view), 1e-13, "broadcast");
  const Tensor weight_back = permute(weight, {0, 3, 1, 2});
  expect_close(conv_transpose2d(x_view, weight_back), conv_transpose2d(x_view.contiguous(), weight_back.contiguous()),
               1e-13, "conv_transpose2d");
}

TEST_P(Conv, EmptyBatchAndChannels) {
  const Var weight(random({4, 3, 3, 3}, 1)), bias(random({4}, 2));
  const Tensor out = conv2d(random({0, 3, 5, 5}, 3), weight, bias);
  EXPECT_EQ(out.shape(), (Shape{0, 4, 3, 3}));
  const Gradients grads = backward(sum(out));
  expect_close(grads.of(weight), zeros({4, 3, 3, 3}), 0, "weight");
  expect_close(grads.of(bias), zeros({4}), 0, "bias");
  EXPECT_EQ(conv_transpose2d(random({0, 4, 5, 5}, 3), weight).shape(), (Shape{0, 3, 7, 7}));
  const Tensor only_bias = conv2d(zeros({1, 0, 4, 4}, DType::kF64, device()), random({4, 0, 3, 3}, 1), bias);
  expect_close(only_bias, broadcast_as(reshape(bias, {1, 4, 1, 1}), {1, 4, 2, 2}), 0, "no input channels");
}

TEST_P(Conv, SaysWhatIsWrong) {
  const auto f32 = [&](const Shape& shape) { return zeros(shape, DType::kF32, device()); };
  const Tensor x = f32({1, 3, 8, 8}), weight = f32({4, 3, 3, 3});
  expect_error(
      [&] {
        conv2d(x, f32({4, 2, 3, 3}));
      },
      ErrorCode::kShape, "conv2d: x [1, 3, 8, 8] has 3 channels, weight [4, 2, 3, 3] with 1 groups takes 2");
  expect_error(
      [&] {
        conv2d(f32({3, 8, 8}), weight);
      },
      ErrorCode::kShape, "conv2d: x has shape [3, 8, 8], expected rank 4");
  expect_error([&] { conv2d(x, f32({4, 3})); }, ErrorCode::kShape, "conv2d: weight has shape [4, 3], expected rank 4");
  expect_error([&] { conv2d(x, f32({4, 3, 0, 3})); }, ErrorCode::kShape, "conv2d: weight [4, 3, 0, 3] has no taps");
  expect_error([&] { conv2d(x, weight, f32({3})); }, ErrorCode::kShape, "conv2d: bias [3] for 4 output channels");
  expect_error(
      [&] {
        conv2d(x, f32({4, 1, 3, 3}), {}, {.groups = 3});
      },
      ErrorCode::kShape, "conv2d: 4 output channels of weight [4, 1, 3, 3] do not divide into 3 groups");
  expect_error(
      [&] {
        conv2d(x, weight, {}, {.padding = {0, 1}, .dilation = {4, 1}});
      },
      ErrorCode::kShape,
      "conv2d: x [1, 3, 8, 8] with padding 0 x 1 is smaller than weight [4, 3, 3, 3] with dilation 4 x 1");
  expect_error([&] { conv2d(x, weight, {}, {.stride = 0}); }, ErrorCode::kInvalidArgument,
               "conv2d: stride 0 x 0, padding 0 x 0, dilation 1 x 1, groups 1: padding must be at least 0, the others "
               "at least 1, and none huge");
  expect_error(
      [&] {
        conv1d(f32({1, 3, 8}), f32({4, 3, 3}), {}, {.padding = -1});
      },
      ErrorCode::kInvalidArgument,
      "conv1d: stride 1, padding -1, dilation 1, groups 1: padding must be at least 0, the others at least 1, and none "
      "huge");
  expect_error([&] { conv2d(x.to_dtype(DType::kI32), weight); }, ErrorCode::kDType,
               "conv2d: dtype i32 is not a floating type; convert with to_dtype first");
  expect_error([&] { conv2d({}, weight); }, ErrorCode::kInvalidArgument,
               "conv2d: an input tensor is empty (never assigned)");
  expect_error([&] { conv2d(x, weight, {}, {.padding = int64_t{1} << 31}); }, ErrorCode::kInvalidArgument, "none huge");
  expect_error([&] { conv2d(x, weight, {}, {.dilation = int64_t{1} << 62}); }, ErrorCode::kInvalidArgument,
               "none huge");
  const Tensor long_weight = broadcast_as(f32({4, 3, 1}), {4, 3, int64_t{1} << 40});
  expect_error(
      [&] {
        conv1d(f32({1, 3, 8}), long_weight, {}, {.dilation = 1 << 30});
      },
      ErrorCode::kShape, "conv1d: the output of x [1, 3, 8] and weight [4, 3, 1099511627776] is too large");
  expect_error(
      [&] {
        conv1d(f32({1, 3, 8}), f32({4, 2, 3}));
      },
      ErrorCode::kShape, "conv1d: x [1, 3, 8] has 3 channels, weight [4, 2, 3] with 1 groups takes 2");
  expect_error(
      [&] {
        conv1d(f32({1, 3, 8}), f32({4, 3, 9}));
      },
      ErrorCode::kShape, "conv1d: x [1, 3, 8] with padding 0 is smaller than weight [4, 3, 9] with dilation 1");
}

TEST_P(Conv, TransposeSaysWhatIsWrong) {
  const auto f32 = [&](const Shape& shape) { return zeros(shape, DType::kF32, device()); };
  const Tensor x = f32({1, 4, 5, 5}), weight = f32({4, 2, 3, 3});
  expect_error(
      [&] {
        conv_transpose2d(x, f32({3, 2, 3, 3}));
      },
      ErrorCode::kShape, "conv_transpose2d: x [1, 4, 5, 5] has 4 channels, weight [3, 2, 3, 3] with 1 groups takes 3");
  expect_error([&] { conv_transpose2d(x, weight, {}, {.groups = 3}); }, ErrorCode::kShape,
               "conv_transpose2d: x [1, 4, 5, 5] has 4 channels, weight [4, 2, 3, 3] with 3 groups takes 4");
  expect_error([&] { conv_transpose2d(x, weight, f32({2}), {.groups = 2}); }, ErrorCode::kShape,
               "conv_transpose2d: bias [2] for 4 output channels");
  expect_error(
      [&] {
        conv_transpose2d(x, weight, {}, {.stride = 2, .output_padding = {2, 0}});
      },
      ErrorCode::kInvalidArgument,
      "conv_transpose2d: output_padding 2 x 0 must be less than stride 2 x 2 or dilation 1 x 1");
  expect_error(
      [&] {
        conv_transpose2d(x, weight, {}, {.padding = {4, 0}});
      },
      ErrorCode::kShape,
      "conv_transpose2d: x [1, 4, 5, 5] and weight [4, 2, 3, 3] with padding 4 x 0 leave an empty image");
  const Tensor long_x = broadcast_as(f32({1, 4, 1}), {1, 4, int64_t{1} << 40});
  expect_error(
      [&] {
        conv_transpose1d(long_x, f32({4, 2, 3}), {}, {.stride = 1 << 30});
      },
      ErrorCode::kShape, "conv_transpose1d: the output of x [1, 4, 1099511627776] and weight [4, 2, 3] is too large");
  expect_error([&] { conv_transpose1d(x, weight); }, ErrorCode::kShape,
               "conv_transpose1d: x has shape [1, 4, 5, 5], expected rank 3");
  expect_error(
      [&] {
        conv_transpose1d(f32({1, 4, 5}), f32({4, 2, 3}), {}, {.output_padding = 1});
      },
      ErrorCode::kInvalidArgument, "conv_transpose1d: output_padding 1 must be less than stride 1 or dilation 1");
}

TEST(ConvDevices, DoNotMix) {
  const Tensor x = zeros({1, 1, 3, 3}), weight = zeros({1, 1, 2, 2}, DType::kF32, Device::reference());
  expect_error([&] { conv2d(x, weight); }, ErrorCode::kDevice, "conv2d: one tensor is on cpu and another on reference");
}

WICK_ON_EVERY_DEVICE(Conv);

}  // namespace
}  // namespace wick
