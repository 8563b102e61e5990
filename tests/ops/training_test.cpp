// Small models must learn: gradients, ops and optimisers together.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/text.h"
#include "ops/ops.h"
#include "ops/optimizer.h"
#include "support/devices.h"
#include "tensor/create.h"

namespace wick {
namespace {

struct LossCurve {
  double first = 0, last = 0;
};

template <typename Optimizer, typename Loss>
LossCurve train(Optimizer& optimizer, int steps, const Loss& loss_of) {
  LossCurve curve;
  for (int step = 0; step < steps; ++step) {
    const Tensor loss = loss_of();
    optimizer.step(backward(loss));
    if (step == 0) curve.first = loss.item();
    curve.last = loss.item();
  }
  testing::Test::RecordProperty("loss", fmt::format("{:.4f} to {:.5f}", curve.first, curve.last));
  return curve;
}

double accuracy(const Tensor& logits, const Tensor& targets) {
  return mean(eq(argmax(logits, -1), targets).to_dtype(DType::kF64)).item();
}

class Training : public OnEveryDevice {
 protected:
  Var parameter(const Shape& shape, double scale) {
    parameters.emplace_back(randn(shape, ++seed_, DType::kF32, device()) * scale);
    return parameters.back();
  }
  Var filled(const Shape& shape, double value) {
    parameters.emplace_back(full(shape, value, DType::kF32, device()));
    return parameters.back();
  }

  std::vector<Var> parameters;

 private:
  uint64_t seed_ = 100;
};

// Two half circles, each reaching into the other: no line divides them.
TEST_P(Training, AnMlpLearnsTwoMoons) {
  const int points = 64, hidden = 16;
  const auto noise = randn({points, 2}, 7, DType::kF64).to_vector<double>();
  std::vector<float> places;
  std::vector<int64_t> labels;
  for (int i = 0; i < points; ++i) {
    const bool lower = i % 2;
    const double angle = std::numbers::pi * i / (points - 1);
    const double x = lower ? 1 - std::cos(angle) : std::cos(angle), y = lower ? 0.4 - std::sin(angle) : std::sin(angle);
    places.push_back(static_cast<float>(x + 0.08 * noise[2 * i]));
    places.push_back(static_cast<float>(y + 0.08 * noise[2 * i + 1]));
    labels.push_back(lower);
  }
  const Tensor x = from_vector(places, {points, 2}, device()), targets = from_vector(labels, {points}, device());

  const Var w1 = parameter({2, hidden}, 1), b1 = filled({hidden}, 0);
  const Var w2 = parameter({hidden, hidden}, 0.3), b2 = filled({hidden}, 0);
  const Var w3 = parameter({hidden, 2}, 0.3), b3 = filled({2}, 0);
  const auto logits = [&] {
    const Tensor first = tanh(matmul(x, w1) + b1.tensor()), second = tanh(matmul(first, w2) + b2.tensor());
    return matmul(second, w3) + b3.tensor();
  };
  SgdOptions options;
  options.learning_rate = 0.3;
  options.momentum = 0.9;
  options.nesterov = true;
  Sgd optimizer(parameters, options);
  const LossCurve loss = train(optimizer, 80, [&] { return cross_entropy(logits(), targets); });
  EXPECT_LT(loss.last, 0.1 * loss.first) << "from " << loss.first;
  EXPECT_EQ(accuracy(logits(), targets), 1);
}

// A transformer block: rotary causal attention and a gated MLP, each behind an rms_norm, in residual branches.
class Block {
 public:
  static constexpr int64_t kVocab = 8, kHidden = 16, kHeads = 2, kHeadDim = 8, kInner = 32, kLength = 8;

  using Make = std::function<Var(const Shape& shape, double scale)>;
  Block(const Make& random, const Make& filled, Device device)
      : embed_(random({kVocab, kHidden}, 0.1)),
        attention_norm_(filled({kHidden}, 1)),
        qkv_(random({kHidden, 3 * kHidden}, 0.25)),
        out_(random({kHidden, kHidden}, 0.25)),
        mlp_norm_(filled({kHidden}, 1)),
        gate_(random({kHidden, kInner}, 0.25)),
        up_(random({kHidden, kInner}, 0.25)),
        down_(random({kInner, kHidden}, 0.2)),
        final_norm_(filled({kHidden}, 1)) {
    const Tensor positions = reshape(arange(0, kLength, 1, DType::kF64), {kLength, 1});
    const Tensor powers = arange(0, kHeadDim / 2, 1, DType::kF64) / (-kHeadDim / 2.0);
    const Tensor angles = positions * pow(scalar(100, DType::kF64), powers);  // [length, head_dim / 2]
    cos_ = cos(angles).to_dtype(DType::kF32).to_device(device);
    sin_ = sin(angles).to_dtype(DType::kF32).to_device(device);
  }

  Tensor logits(const Tensor& tokens) const {  // [batch, length] -> [batch * length, vocab]
    Tensor x = embedding(tokens, embed_);
    x = x + attention(rms_norm(x, attention_norm_));
    x = x + mlp(rms_norm(x, mlp_norm_));
    x = reshape(rms_norm(x, final_norm_), {-1, kHidden});
    return matmul(x, transpose(embed_, 0, 1));  // tied embeddings
  }

 private:
  Tensor attention(const Tensor& x) const {
    const int64_t batch = x.dim(0);
    const Tensor qkv = reshape(matmul(x, qkv_), {batch, kLength, 3, kHeads, kHeadDim});
    const auto part = [&](int64_t i) { return permute(squeeze(narrow(qkv, 2, i, 1), 2), {0, 2, 1, 3}); };
    AttentionOptions options;
    options.causal = true;
    const Tensor mixed =
        scaled_dot_product_attention(rope(part(0), cos_, sin_), rope(part(1), cos_, sin_), part(2), options);
    return matmul(reshape(permute(mixed, {0, 2, 1, 3}), {batch, kLength, kHidden}), out_);
  }
  Tensor mlp(const Tensor& x) const { return matmul(silu(matmul(x, gate_)) * matmul(x, up_), down_); }

  Var embed_, attention_norm_, qkv_, out_, mlp_norm_, gate_, up_, down_, final_norm_;
  Tensor cos_, sin_;
};

// The next token is the one before the current: a b a b ... can only be told by looking back.
TEST_P(Training, ATransformerBlockLearnsToLookBack) {
  const int64_t batch = 8;
  const auto random_tokens = rand({batch, 2}, 5, DType::kF64).to_vector<double>();
  std::vector<int64_t> tokens, targets;
  for (int64_t b = 0; b < batch; ++b) {
    const auto first = static_cast<int64_t>(random_tokens[2 * b] * Block::kVocab);
    const auto second = (first + 1 + static_cast<int64_t>(random_tokens[2 * b + 1] * (Block::kVocab - 1))) % 8;
    for (int64_t t = 0; t < Block::kLength; ++t) {
      tokens.push_back(t % 2 ? second : first);
      targets.push_back(t == 0 ? -100 : t % 2 ? first : second);  // the second token cannot be known
    }
  }
  const Tensor input = from_vector(tokens, {batch, Block::kLength}, device());
  const Tensor target = from_vector(targets, {batch * Block::kLength}, device());
  const Block block([&](const Shape& s, double scale) { return parameter(s, scale); },
                    [&](const Shape& s, double value) { return filled(s, value); }, device());
  AdamWOptions options;
  options.learning_rate = 0.02;
  AdamW optimizer(parameters, options);
  const LossCurve loss = train(optimizer, 35, [&] { return cross_entropy(block.logits(input), target); });
  EXPECT_GT(loss.first, 1.5);  // about log 8: nothing known yet
  EXPECT_LT(loss.last, 0.1 * loss.first) << "from " << loss.first;
}

WICK_ON_EVERY_DEVICE(Training);

}  // namespace
}  // namespace wick
