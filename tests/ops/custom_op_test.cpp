#include "ops/custom_op.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

// factor * x, reading raw memory of the host as a user would.
class Scale final : public CustomOp {
 public:
  explicit Scale(float factor) : factor_(factor) {}
  const char* name() const override { return "scale"; }
  Tensor forward_cpu(std::span<const Tensor> inputs) const override {
    const Tensor out = empty_like(inputs[0]);
    for (int64_t i = 0; i < out.numel(); ++i) out.mutable_data<float>()[i] = factor_ * inputs[0].data<float>()[i];
    return out;
  }
  Grads backward(std::span<const Tensor>, const Tensor& output, const Tensor& grad) const override {
    const Tensor result = empty_like(output);
    for (int64_t i = 0; i < grad.numel(); ++i) result.mutable_data<float>()[i] = factor_ * grad.data<float>()[i];
    return {result};
  }

 private:
  float factor_;
};

// a * b + c, made of ops.
class MultiplyAdd final : public CustomOp {
 public:
  const char* name() const override { return "multiply_add"; }
  Tensor forward_cpu(std::span<const Tensor> in) const override { return in[0] * in[1] + in[2]; }
  Tensor forward_cuda(std::span<const Tensor> in) const override { return forward_cpu(in); }
  Grads backward(std::span<const Tensor> in, const Tensor&, const Tensor& grad) const override {
    return {grad * in[1], grad * in[0], grad};
  }
};

// An op whose parts are given per test.
class Faulty final : public CustomOp {
 public:
  using Forward = std::function<Tensor(std::span<const Tensor>)>;
  using Backward = std::function<Grads(std::span<const Tensor>)>;
  explicit Faulty(Forward forward, Backward backward = nullptr) : forward_(forward), backward_(backward) {}
  const char* name() const override { return "faulty"; }
  Tensor forward_cpu(std::span<const Tensor> inputs) const override { return forward_(inputs); }
  Tensor forward_cuda(std::span<const Tensor> inputs) const override { return forward_(inputs); }
  Grads backward(std::span<const Tensor> inputs, const Tensor& output, const Tensor& grad) const override {
    return backward_ ? backward_(inputs) : CustomOp::backward(inputs, output, grad);
  }

 private:
  Forward forward_;
  Backward backward_;
};

template <typename... Inputs>
concept Applicable = requires(const Scale& op, const Inputs&... inputs) {
  apply(op, inputs...);
};
static_assert(!Applicable<> && Applicable<Tensor> && Applicable<Var, Tensor> && Applicable<Tensor, Tensor, Var>);
static_assert(!Applicable<Tensor, Tensor, Tensor, Tensor>, "one to three inputs");

class CustomOps : public OnEveryDevice {};
class HostOps : public OnEveryDevice {};  // ops without a forward for CUDA

TEST_P(HostOps, WorkLikeBuiltInOnes) {
  const Var x(randn({3, 5}, 1, DType::kF32, device()));
  // transpose gives a strided input, sum a gradient of stride 0: the op sees both row-major.
  const Tensor y = apply(Scale(2.5f), transpose(x, 0, 1));
  EXPECT_EQ(y.device(), device());
  expect_close(y, transpose(x, 0, 1) * 2.5, 1e-6, "forward");
  expect_close(backward(sum(y)).of(x), full({3, 5}, 2.5), 1e-6, "gradient");
}

TEST_P(CustomOps, TakeTwoAndThreeInputs) {
  const Var a(randn({4}, 1, DType::kF64, device())), b(randn({4}, 2, DType::kF64, device()));
  const Tensor c = randn({4}, 3, DType::kF64, device());
  const Tensor built_in = exp(a * b + c), custom = exp(apply(MultiplyAdd(), a, b, c));
  expect_close(custom, built_in, 1e-15, "forward");
  const Gradients got = backward(sum(custom)), want = backward(sum(built_in));
  expect_close(got.of(a), want.of(a), 1e-14, "by a");
  expect_close(got.of(b), want.of(b), 1e-14, "by b");

  const Faulty difference([](std::span<const Tensor> in) { return in[0] - in[1]; });
  expect_close(apply(difference, a, c), a - c, 1e-15, "two inputs");
}

TEST_P(HostOps, RecordOnlyWhenAnInputIsTracked) {
  const Tensor x = ones({2}, DType::kF32, device());
  EXPECT_FALSE(apply(Scale(2), x).requires_grad());
  const Var var(x);
  EXPECT_TRUE(apply(Scale(2), var).requires_grad());
  const NoGrad no_grad;
  EXPECT_FALSE(apply(Scale(2), var).requires_grad());
}

TEST_P(HostOps, TheGraphKeepsItsOwnCopyOfTheOp) {
  const Var x(ones({2}, DType::kF32, device()));
  Tensor y;
  {
    const Scale gone(3);
    y = apply(gone, x);
  }
  expect_close(backward(sum(y)).of(x), full({2}, 3), 0, "gradient");
}

// An op that hands its input back must not pass the input's place in the graph on.
TEST_P(CustomOps, MayReturnAnInput) {
  const Var x(ones({2}, DType::kF32, device()));
  const Faulty straight_through(
      [](std::span<const Tensor> in) { return in[0]; },
      [](std::span<const Tensor> in) { return Grads{full(in[0].shape(), 7, DType::kF32, in[0].device())}; });
  expect_close(backward(sum(apply(straight_through, x))).of(x), full({2}, 7), 0, "gradient");
}

TEST_P(CustomOps, ErrorsNameTheOpAndTheFacts) {
  const Var x(ones({2, 3}, DType::kF32, device()));
  const auto same = [](std::span<const Tensor> in) { return in[0]; };
  expect_error([&] { backward(sum(apply(Faulty(same), x))); }, ErrorCode::kUnsupported,
               "faulty: has no backward, so no gradient can flow through it");
  const auto transposed = [](std::span<const Tensor> in) { return Grads{transpose(in[0], 0, 1)}; };
  expect_error([&] { backward(sum(apply(Faulty(same, transposed), x))); }, ErrorCode::kInternal,
               "faulty: gradient of shape [3, 2] for an input of shape [2, 3]");
  const auto too_few = [](std::span<const Tensor> in) { return Grads{in[0]}; };
  expect_error([&] { backward(sum(apply(Faulty(same, too_few), x, x))); }, ErrorCode::kInternal,
               "faulty: the backward gave 1 gradients for 2 inputs");
  expect_error([&] { apply(Faulty([](std::span<const Tensor>) { return Tensor(); }), x); }, ErrorCode::kInternal,
               "faulty: the forward gave an empty tensor");
  expect_error([&] { apply(Scale(1), Tensor()); }, ErrorCode::kInvalidArgument, "scale: an input tensor is empty");
}

TEST(CustomOpDevices, AreChecked) {
  const Tensor here = ones({2}), there = ones({2}, DType::kF32, Device::reference());
  expect_error([&] { apply(MultiplyAdd(), here, here, there); }, ErrorCode::kDevice,
               "multiply_add: one tensor is on cpu and another on reference");
  const Faulty stray([&](std::span<const Tensor>) { return here; });
  expect_error([&] { apply(stray, there); }, ErrorCode::kInternal,
               "faulty: the forward gave a tensor on cpu for inputs on reference");
  const Faulty stray_gradient([](std::span<const Tensor> in) { return in[0]; },
                              [&](std::span<const Tensor>) { return Grads{here}; });
  expect_error([&] { backward(sum(apply(stray_gradient, Var(there)))); }, ErrorCode::kDevice,
               "faulty: one tensor is on reference and another on cpu");
  // Without a CUDA forward the op says so; called directly, since this build may have no such device.
  expect_error([&] { Scale(1).forward_cuda(std::vector{here}); }, ErrorCode::kUnsupported, "scale: not supported on");
}

WICK_ON_EVERY_DEVICE(CustomOps);
INSTANTIATE_TEST_SUITE_P(, HostOps, testing::Values(Device::reference(), Device::cpu()), device_name);

}  // namespace
}  // namespace wick
