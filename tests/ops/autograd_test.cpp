#include "ops/autograd.h"

#include <gtest/gtest.h>

#include <cmath>

#include <functional>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

class Autograd : public OnEveryDevice {
 protected:
  Tensor random(const Shape& shape, uint64_t seed) const { return randn(shape, seed, DType::kF64, device()); }
};

TEST_P(Autograd, ATensorUsedTwiceGetsBothGradients) {
  const Var x(tensor<double>({2.0, 3.0}, device()));
  expect_close(backward(sum(x * x)).of(x), tensor<double>({4.0, 6.0}), 0, "x * x");
  const Tensor middle = x * 3.0;  // a diamond: both arms meet again
  const Tensor out = sum(middle * exp(middle * 0.1) + middle);
  const auto slope = [](double m) { return 3 * (std::exp(0.1 * m) * (1 + 0.1 * m) + 1); };
  expect_close(backward(out).of(x), tensor<double>({slope(6), slope(9)}), 1e-13, "diamond");
}

// Each level doubles the number of paths: 2^60 of them, but every node runs once.
TEST_P(Autograd, PathsAreNotWalkedOneByOne) {
  const Var x(scalar(1, DType::kF64, device()));
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  EXPECT_EQ(backward(y).of(x).item(), 0x1p60);
}

TEST_P(Autograd, LongChainsNeedNoStack) {
  const Var x(scalar(1, DType::kF64, device()));
  const Tensor one = scalar(1, DType::kF64, device());
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y + one;
  EXPECT_EQ(y.item(), 100001);
  EXPECT_EQ(backward(y).of(x).item(), 1);
  y = Tensor();  // takes the chain down
  Tensor z = x;
  for (int i = 0; i < 100000; ++i) z = z * one;  // functions that hold their inputs too
  z = Tensor();
  SUCCEED();
}

TEST_P(Autograd, NothingIsRecordedWithoutAVar) {
  const Tensor x = random({2, 2}, 1);
  EXPECT_FALSE(sum(exp(matmul(x, x))).requires_grad());
  const Var v(x);
  EXPECT_TRUE((v * 2.0).requires_grad());
  EXPECT_FALSE(gt(v, 0).requires_grad());
  EXPECT_FALSE(argmax(v).requires_grad());
  EXPECT_FALSE((v.tensor().detach() * 2.0).requires_grad());
}

TEST_P(Autograd, NoGradAndEnableGradNest) {
  const Var v(random({2}, 1));
  {
    const NoGrad outer;
    EXPECT_FALSE((v * 2.0).requires_grad());
    {
      const EnableGrad inner;
      EXPECT_TRUE((v * 2.0).requires_grad());
      { const NoGrad innermost; }
      EXPECT_TRUE((v * 2.0).requires_grad());
    }
    EXPECT_FALSE((v * 2.0).requires_grad());
  }
  EXPECT_TRUE((v * 2.0).requires_grad());
}

TEST_P(Autograd, ASeedWeighsTheOutputs) {
  const Var x(tensor<double>({1.0, 2.0, 3.0}, device()));
  const Tensor seed = tensor<double>({1.0, 0.0, -2.0}, device());
  expect_close(backward(sqr(x), seed).of(x), tensor<double>({2.0, 0.0, -12.0}), 0, "seeded");
  // A seed of another dtype is converted, not spread through the graph.
  const Tensor gradient = backward(sqr(x), seed.to_dtype(DType::kF32)).of(x);
  EXPECT_EQ(gradient.dtype(), DType::kF64);
}

TEST_P(Autograd, GradientsOfTensorsOnTheWay) {
  const Var x(tensor<double>({1.0, 2.0}, device()));
  const Tensor y = sqr(x), z = y * 3.0, loss = sum(z);
  const Gradients gradients = backward(loss);
  expect_close(gradients.of(loss), scalar(1, DType::kF64), 0, "loss");
  expect_close(gradients.of(z), tensor<double>({1.0, 1.0}), 0, "z");
  expect_close(gradients.of(y), tensor<double>({3.0, 3.0}), 0, "y");
  expect_close(gradients.of(x), tensor<double>({6.0, 12.0}), 0, "x");
  EXPECT_FALSE(gradients.of(Var(x.tensor())).defined());  // another Var with the same values
  EXPECT_FALSE(gradients.of(ones({2})).defined());
}

TEST_P(Autograd, BackwardCanRunAgain) {
  const Var x(tensor<double>({1.0, 2.0}, device()));
  const Tensor loss = sum(sqr(x));
  expect_close(backward(loss).of(x), backward(loss).of(x), 0, "twice");
}

TEST_P(Autograd, EachInputGetsItsOwnDtypeBack) {
  const Var half(ones({2, 3}, DType::kF16, device())), brain(ones({3}, DType::kBF16, device()));
  const Var single(ones({3, 2}, DType::kF32, device()));
  const Gradients gradients = backward(sum(matmul(half * brain, single)));
  EXPECT_EQ(gradients.of(half).dtype(), DType::kF16);
  EXPECT_EQ(gradients.of(brain).dtype(), DType::kBF16);
  EXPECT_EQ(gradients.of(single).dtype(), DType::kF32);
  expect_close(gradients.of(half), full({2, 3}, 2), 0, "half");
  expect_close(gradients.of(brain), full({3}, 4), 0, "brain");
  expect_close(gradients.of(single), full({3, 2}, 2), 0, "single");
}

TEST_P(Autograd, BroadcastInputsGetSummedGradients) {
  const Var row(random({3}, 1)), column(random({2, 1}, 2));
  const Gradients gradients = backward(sum(row + column));
  expect_close(gradients.of(row), full({3}, 2, DType::kF64), 0, "row");
  expect_close(gradients.of(column), full({2, 1}, 3, DType::kF64), 0, "column");
}

TEST_P(Autograd, CompositeMatchesFiniteDifferences) {
  const Tensor input = random({4, 6}, 1);
  const auto loss = [&](const Tensor& weight, const Tensor& gain) {
    const Tensor hidden = layer_norm(gelu(matmul(input, weight)), gain, Tensor());
    const Tensor mixed = softmax(matmul(hidden, transpose(hidden, 0, 1)) * 0.3, -1);
    return mean(sqr(tanh(matmul(mixed, concat({hidden, narrow(hidden, 1, 0, 2)}, 1)))));
  };
  const Var weight(random({6, 5}, 2)), gain(random({5}, 3));
  const Gradients gradients = backward(loss(weight, gain));
  const auto numeric = [&](const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
    std::vector<double> values = x.to_vector<double>(), slopes;
    const double h = 1e-5;
    for (double& value : values) {
      const double middle = value;
      value = middle + h;
      const double above = f(from_vector(values, x.shape(), device())).item();
      value = middle - h;
      const double below = f(from_vector(values, x.shape(), device())).item();
      value = middle;
      slopes.push_back((above - below) / (2 * h));
    }
    return from_vector(slopes, x.shape());
  };
  const NoGrad no_grad;
  expect_close(gradients.of(weight), numeric(weight, [&](const Tensor& w) { return loss(w, gain); }), 1e-8, "weight");
  expect_close(gradients.of(gain), numeric(gain, [&](const Tensor& g) { return loss(weight, g); }), 1e-8, "gain");
}

TEST_P(Autograd, AVarKeepsItsOwnValues) {
  const Tensor source = ones({2}, DType::kF32, device());
  const Var v(source);
  v.set(full({2}, 5, DType::kF64, device()));  // converted on the way in
  EXPECT_EQ(v.tensor().dtype(), DType::kF32);
  expect_close(v, full({2}, 5), 0, "set");
  expect_close(source, ones({2}), 0, "source");
  EXPECT_TRUE(v.tensor().requires_grad());
}

TEST_P(Autograd, AVarCanBeSetFromAViewOfItself) {
  const Var v(tensor<double>({{1.0, 2.0}, {3.0, 4.0}}, device()));
  v.set(transpose(v, 0, 1));
  expect_close(v, tensor<double>({{1.0, 3.0}, {2.0, 4.0}}), 0, "transposed");
}

TEST_P(Autograd, PowerZeroIsFlatEvenAtZero) {
  const Var x(tensor<double>({0.0, 2.0, 0.0}, device()));
  const Tensor exponents = tensor<double>({0.0, 0.0, 2.0}, device());
  expect_close(backward(sum(pow(x, exponents))).of(x), zeros({3}, DType::kF64), 0, "slope");
  expect_close(backward(sum(pow(x, 0))).of(x), zeros({3}, DType::kF64), 0, "slope");
}

TEST_P(Autograd, ErrorsNameTheFacts) {
  const Var x(random({2, 3}, 1));
  expect_error([&] { backward(sum(random({2}, 1))); }, ErrorCode::kInvalidArgument,
               "backward: the tensor was not computed from any Var");
  expect_error([&] { backward(x * 2.0); }, ErrorCode::kShape,
               "backward: the loss has shape [2, 3], expected one element");
  expect_error([&] { backward(x * 2.0, ones({3}, DType::kF64, device())); }, ErrorCode::kShape,
               "backward: seed [3] for an output of shape [2, 3]");
  expect_error([&] { backward(Tensor()); }, ErrorCode::kInvalidArgument, "backward: an input tensor is empty");
  expect_error([&] { backward(sum(x), Tensor()); }, ErrorCode::kInvalidArgument, "backward: an input tensor is empty");
  expect_error([&] { Var(zeros({2}, DType::kI64, device())); }, ErrorCode::kDType, "Var: dtype i64 is not a floating");
  expect_error([&] { x.set(ones({3}, DType::kF64, device())); }, ErrorCode::kShape,
               "Var::set: [3] into a variable of shape [2, 3]");
  expect_error([&] { x.set(Tensor()); }, ErrorCode::kInvalidArgument, "Var::set: an input tensor is empty");
}

TEST(AutogradDevices, GradientsTravelBackAcrossDevices) {
  const Var x(tensor<double>({1.0, 2.0}, Device::reference()));
  const Gradients gradients = backward(sum(sqr(x.tensor().to_device(Device::cpu()))));
  EXPECT_EQ(gradients.of(x).device(), Device::reference());
  expect_close(gradients.of(x), tensor<double>({2.0, 4.0}), 0, "x");
  expect_error([&] { backward(sum(x), scalar(1, DType::kF64)); }, ErrorCode::kDevice,
               "backward: one tensor is on reference and another on cpu");
}

WICK_ON_EVERY_DEVICE(Autograd);

}  // namespace
}  // namespace wick
