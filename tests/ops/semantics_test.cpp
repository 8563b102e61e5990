// What the numbers mean: promotion in ops, integers, special values, ties, empty tensors. Expected values by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "support/devices.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

class SemanticsTest : public OnEveryDevice {
 protected:
  template <typename T>
  Tensor of(const std::vector<T>& values) const {
    return from_vector(values, {static_cast<int64_t>(values.size())}, device());
  }
};

using Doubles = std::vector<double>;
using Longs = std::vector<int64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST_P(SemanticsTest, OpsPromoteLikeNumPy) {
  const auto dtype_of_sum = [&](DType a, DType b) {
    return add(ones({2}, a, device()), ones({2}, b, device())).dtype();
  };
  EXPECT_EQ(dtype_of_sum(DType::kU8, DType::kF32), DType::kF32);
  EXPECT_EQ(dtype_of_sum(DType::kF16, DType::kBF16), DType::kF32);
  EXPECT_EQ(dtype_of_sum(DType::kI32, DType::kF32), DType::kF64);
  EXPECT_EQ(dtype_of_sum(DType::kU8, DType::kI8), DType::kI32);
  const Tensor ints = of<int32_t>({7, -7, 0});
  EXPECT_EQ(div(ints, 2).dtype(), DType::kF64);
  EXPECT_EQ(div(ints, 2).to_vector<double>(), (Doubles{3.5, -3.5, 0}));
  EXPECT_EQ(add(ints, 1).dtype(), DType::kI32);
  EXPECT_EQ(add(ints, 0.5).dtype(), DType::kF64);
  EXPECT_EQ(mul(ones({1}, DType::kF16, device()), 0.5).dtype(), DType::kF16);
  EXPECT_EQ(sum(of<uint8_t>({200, 100})).item(), 300);
  EXPECT_EQ(mean(of<int32_t>({1, 2})).item(), 1.5);
  EXPECT_EQ(pow(of<int64_t>({3, -2, 0}), of<int64_t>({4, 3, 0})).to_vector<int64_t>(), (Longs{81, -8, 1}));
  EXPECT_ERROR(pow(ints, of<int32_t>({1, 2, -1})), kInvalidArgument, "pow: integers to the negative power -1");
}

TEST_P(SemanticsTest, IntegersWrapAround) {
  EXPECT_EQ(add(of<uint8_t>({250}), of<uint8_t>({10})).to_vector<int64_t>(), Longs{4});
  EXPECT_EQ(mul(of<int8_t>({100}), of<int8_t>({2})).to_vector<int64_t>(), Longs{-56});
  EXPECT_EQ(neg(of<int32_t>({std::numeric_limits<int32_t>::min()})).to_vector<int64_t>(),
            Longs{std::numeric_limits<int32_t>::min()});
  EXPECT_EQ(sub(of<uint32_t>({1}), of<uint32_t>({2})).to_vector<int64_t>(), Longs{4294967295});
  const int64_t big = (int64_t{1} << 62) + 1;
  EXPECT_EQ(add(of<int64_t>({big}), of<int64_t>({-1})).to_vector<int64_t>(), Longs{big - 1});
  EXPECT_EQ(maximum(of<int64_t>({big}), of<int64_t>({big - 1})).to_vector<int64_t>(), Longs{big});
}

TEST_P(SemanticsTest, NanAndInfinityPassThrough) {
  const Tensor x = of<float>({1, NAN, -INFINITY, INFINITY});
  EXPECT_TRUE(std::isnan(max(x).item()));
  EXPECT_TRUE(std::isnan(min(x).item()));
  EXPECT_TRUE(std::isnan(sum(x).item()));
  EXPECT_EQ(argmax(x).item(), 1);
  EXPECT_EQ(argmin(x).item(), 1);
  const auto larger = maximum(x, 0).to_vector<double>();
  EXPECT_EQ(larger[0], 1);
  EXPECT_TRUE(std::isnan(larger[1]));
  EXPECT_TRUE(std::isnan(minimum(of<float>({0}), of<float>({NAN})).item()));
  EXPECT_TRUE(std::isnan(clamp(x, -1, 1).to_vector<double>()[1]));
  EXPECT_TRUE(std::isnan(relu(x).to_vector<double>()[1]));
  EXPECT_EQ(eq(x, x).to_vector<int64_t>(), (Longs{1, 0, 1, 1}));
  EXPECT_EQ(ne(x, x).to_vector<int64_t>(), (Longs{0, 1, 0, 0}));
  EXPECT_EQ(sort(x, 0).indices.to_vector<int64_t>(), (Longs{2, 0, 3, 1}));
  EXPECT_EQ(sort(x, 0, true).indices.to_vector<int64_t>(), (Longs{1, 3, 0, 2}));
  EXPECT_EQ(sigmoid(of<float>({-1000, 1000})).to_vector<double>(), (Doubles{0, 1}));
  EXPECT_EQ(softplus(of<float>({-1000, 1000})).to_vector<double>(), (Doubles{0, 1000}));
  EXPECT_EQ(tanh(of<float>({-1000, 1000})).to_vector<double>(), (Doubles{-1, 1}));
  EXPECT_EQ(exp(of<float>({-1000, 1000})).to_vector<double>(), (Doubles{0, kInf}));
  EXPECT_EQ(log(of<float>({0})).item(), -kInf);
  EXPECT_TRUE(std::isnan(log(of<float>({-1})).item()));
  EXPECT_TRUE(std::isnan(sqrt(of<float>({-1})).item()));
  EXPECT_EQ(softmax(of<float>({1000, 1000}), 0).to_vector<double>(), (Doubles{0.5, 0.5}));
  EXPECT_EQ(softmax(of<float>({-INFINITY, 0}), 0).to_vector<double>(), (Doubles{0, 1}));
  EXPECT_EQ(max(full({100}, -kInf, DType::kF32, device())).item(), -kInf);
  EXPECT_EQ(min(full({100}, kInf, DType::kF64, device())).item(), kInf);
  EXPECT_EQ(softmax(of<float>({-3e38f, -3e38f}), 0).to_vector<double>(), (Doubles{0.5, 0.5}));
  EXPECT_EQ(clamp(of<uint8_t>({0, 100, 255}), -5, 300).to_vector<int64_t>(), (Longs{0, 100, 255}));
  EXPECT_EQ(clamp(of<int8_t>({-128, 5}), -1000, 3).to_vector<int64_t>(), (Longs{-128, 3}));
  EXPECT_EQ(pow(of<float>({-2, 0, 2}), of<float>({3, 0, -1})).to_vector<double>(), (Doubles{-8, 1, 0.5}));
}

TEST_P(SemanticsTest, RoundingAndTies) {
  EXPECT_EQ(round(of<float>({0.5f, 1.5f, 2.5f, -0.5f, -1.5f})).to_vector<double>(), (Doubles{0, 2, 2, 0, -2}));
  EXPECT_EQ(floor(of<double>({-1.5, 1.5})).to_vector<double>(), (Doubles{-2, 1}));
  EXPECT_EQ(ceil(of<double>({-1.5, 1.5})).to_vector<double>(), (Doubles{-1, 2}));
  EXPECT_EQ(argmax(of<int32_t>({3, 9, 9, 1})).item(), 1);
  EXPECT_EQ(argmin(of<int32_t>({3, 1, 9, 1})).item(), 1);
  EXPECT_EQ(sort(of<int32_t>({2, 1, 2, 1}), 0).indices.to_vector<int64_t>(), (Longs{1, 3, 0, 2}));
  EXPECT_EQ(sort(of<int32_t>({2, 1, 2, 1}), 0, true).indices.to_vector<int64_t>(), (Longs{0, 2, 1, 3}));
  EXPECT_EQ(topk(of<int32_t>({5, 7, 7, 1, 7}), 3, 0).indices.to_vector<int64_t>(), (Longs{1, 2, 4}));
  EXPECT_EQ(topk(of<int32_t>({5, 7, 1, 1, 7}), 2, 0, false).indices.to_vector<int64_t>(), (Longs{2, 3}));
}

TEST_P(SemanticsTest, EmptyTensors) {
  const Tensor none = zeros({0, 3}, DType::kF32, device());
  EXPECT_EQ(exp(none).shape(), Shape({0, 3}));
  EXPECT_EQ(add(none, of<float>({1, 2, 3})).shape(), Shape({0, 3}));
  EXPECT_EQ(sum(none).item(), 0);
  EXPECT_EQ(sum(none, {0}).to_vector<double>(), (Doubles{0, 0, 0}));
  EXPECT_EQ(max(none, {1}).shape(), Shape({0}));
  EXPECT_ERROR(max(none, {0}), kShape, "max: [0, 3] has no elements to reduce");
  EXPECT_ERROR(mean(none), kShape, "mean: [0, 3] has no elements to reduce");
  EXPECT_EQ(matmul(zeros({2, 0}, DType::kF32, device()), zeros({0, 3}, DType::kF32, device())).to_vector<double>(),
            Doubles(6, 0));
  EXPECT_EQ(softmax(none, 1).shape(), Shape({0, 3}));
  EXPECT_EQ(concat({none, ones({1, 3}, DType::kF32, device())}, 0).shape(), Shape({1, 3}));
  EXPECT_EQ(sort(none, 0).values.shape(), Shape({0, 3}));
  EXPECT_EQ(layer_norm(none, Tensor(), Tensor()).shape(), Shape({0, 3}));
}

TEST_P(SemanticsTest, RopeTurnsPairs) {
  const double angle = 0.3;
  const Tensor c = full({1, 1}, std::cos(angle), DType::kF32, device()),
               s = full({1, 1}, std::sin(angle), DType::kF32, device());
  const Tensor x = reshape(of<float>({1, 2, 3, 4}), {1, 4});  // one pair turns, two components pass through
  for (const bool interleaved : {false, true}) {
    const auto y = rope(x, c, s, interleaved).to_vector<double>();
    EXPECT_NEAR(y[0], std::cos(angle) - 2 * std::sin(angle), 1e-6);
    EXPECT_NEAR(y[1], std::sin(angle) + 2 * std::cos(angle), 1e-6);
    EXPECT_EQ(y[2], 3);
    EXPECT_EQ(y[3], 4);
  }
  const Tensor c2 = tensor({{1.f, 0.f}}, device()), s2 = tensor({{0.f, 1.f}}, device());  // second pair by 90 degrees
  EXPECT_EQ(rope(x, c2, s2, false).to_vector<double>(), (Doubles{1, -4, 3, 2}));
  EXPECT_EQ(rope(x, c2, s2, true).to_vector<double>(), (Doubles{1, 2, -4, 3}));
}

TEST_P(SemanticsTest, CrossEntropySkipsIgnoredRows) {
  const Tensor logits = tensor({{0.f, 0.f}, {5.f, 1.f}, {0.f, 0.f}}, device());
  EXPECT_NEAR(cross_entropy(logits, of<int64_t>({0, -100, 1})).item(), std::log(2.0), 1e-6);
  EXPECT_ERROR(cross_entropy(logits, of<int64_t>({0, 2, 1})), kInvalidArgument,
               "cross_entropy: index 2 is out of range for a dimension of size 2");
  EXPECT_ERROR(cross_entropy(logits, of<int64_t>({-100, -100, -100})), kInvalidArgument, "no row has a target");
}

TEST_P(SemanticsTest, AttentionMasks) {
  const Tensor q = randn({1, 2, 3, 4}, 1, DType::kF32, device()), k = randn({1, 2, 5, 4}, 2, DType::kF32, device()),
               v = randn({1, 2, 5, 4}, 3, DType::kF32, device());
  AttentionOptions causal, masked, hidden;
  causal.causal = true;
  masked.mask = tensor<uint8_t>({{1, 1, 1, 0, 0}, {1, 1, 1, 1, 0}, {1, 1, 1, 1, 1}}, device());
  const auto a = scaled_dot_product_attention(q, k, v, causal).to_vector<double>();
  const auto b = scaled_dot_product_attention(q, k, v, masked).to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
  hidden.mask = full({1, 1, 1, 5}, -kInf, DType::kF32, device());
  EXPECT_EQ(sum(abs(scaled_dot_product_attention(q, k, v, hidden))).item(), 0);  // sees nothing: zeros, not NaN
}

TEST_P(SemanticsTest, PadModes) {
  const Tensor x = of<float>({1, 2, 3});
  EXPECT_EQ(pad(x, 0, 2, 1).to_vector<double>(), (Doubles{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(pad(x, 0, 2, 1, PadMode::kReflect).to_vector<double>(), (Doubles{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(pad(x, 0, 2, 1, PadMode::kReplicate).to_vector<double>(), (Doubles{1, 1, 1, 2, 3, 3}));
  EXPECT_ERROR(pad(x, 0, 3, 0, PadMode::kReflect), kInvalidArgument, "to reflect");
  EXPECT_ERROR(pad(x, 0, -1, 0), kInvalidArgument, "pad: -1 before and 0 after dimension 0");
}

TEST_P(SemanticsTest, VarianceCorrection) {
  const Tensor x = of<double>({1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(var(x).item(), 1.25);
  EXPECT_DOUBLE_EQ(var(x, {}, 1).item(), 5.0 / 3);
  EXPECT_ERROR(var(of<float>({1}), {}, 1), kInvalidArgument, "var: 1 elements of [1] with correction 1");
}

WICK_ON_EVERY_DEVICE(SemanticsTest);

}  // namespace
}  // namespace wick
