#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops.h"
#include "ops/optimizer.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// loss = sum(scale * (w - aim)^2) / 2, so the gradient is scale * (w - aim).
struct Problem {
  std::vector<double> start = {1.0, -2.0, 0.5}, aim = {0.3, 0.1, -0.7}, scale = {1.0, 3.0, 0.25};

  std::vector<double> gradient(const std::vector<double>& w) const {
    std::vector<double> g(w.size());
    for (size_t i = 0; i < w.size(); ++i) g[i] = scale[i] * (w[i] - aim[i]);
    return g;
  }
  Tensor tensor(const std::vector<double>& values, DType dtype, Device device) const {
    return from_vector(values, {3}).to_dtype(dtype).to_device(device);
  }
  template <typename Optimizer>
  void train(Optimizer& optimizer, const Var& w, int steps) const {
    const DType dtype = w.tensor().dtype();
    const Tensor to = tensor(aim, dtype, w.tensor().device()), by = tensor(scale, dtype, w.tensor().device());
    for (int i = 0; i < steps; ++i) optimizer.step(backward(sum(sqr(w - to) * by) * 0.5));
  }
};

std::vector<double> plain_sgd(const Problem& problem, const SgdOptions& o, int steps) {
  std::vector<double> w = problem.start, velocity(w.size(), 0);
  for (int step = 0; step < steps; ++step) {
    const auto gradient = problem.gradient(w);
    for (size_t i = 0; i < w.size(); ++i) {
      const double g = gradient[i] + o.weight_decay * w[i];
      velocity[i] = o.momentum * velocity[i] + g;
      w[i] -= o.learning_rate * (o.nesterov ? g + o.momentum * velocity[i] : velocity[i]);
    }
  }
  return w;
}

std::vector<double> plain_adamw(const Problem& problem, const AdamWOptions& o, int steps) {
  std::vector<double> w = problem.start, mean(w.size(), 0), square(w.size(), 0);
  for (int step = 1; step <= steps; ++step) {
    const auto g = problem.gradient(w);
    for (size_t i = 0; i < w.size(); ++i) {
      mean[i] = o.beta1 * mean[i] + (1 - o.beta1) * g[i];
      square[i] = o.beta2 * square[i] + (1 - o.beta2) * g[i] * g[i];
      const double m = mean[i] / (1 - std::pow(o.beta1, step)), v = square[i] / (1 - std::pow(o.beta2, step));
      w[i] = w[i] - o.learning_rate * o.weight_decay * w[i] - o.learning_rate * m / (std::sqrt(v) + o.eps);
    }
  }
  return w;
}

SgdOptions sgd(double rate, double momentum, double decay, bool nesterov) {
  SgdOptions options;
  options.learning_rate = rate;
  options.momentum = momentum;
  options.weight_decay = decay;
  options.nesterov = nesterov;
  return options;
}

double tolerance(DType dtype) { return dtype == DType::kF64 ? 1e-13 : 2e-6; }

class Optimizers : public OnEveryDevice {};

TEST_P(Optimizers, SgdMatchesItsFormulaFor20Steps) {
  const Problem problem;
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    for (const SgdOptions& options : {sgd(0.1, 0, 0, false), sgd(0.1, 0.9, 0, false), sgd(0.05, 0.8, 0.1, false),
                                      sgd(0.05, 0.8, 0.1, true), sgd(0.1, 0, 0.2, false)}) {
      const Var w(problem.tensor(problem.start, dtype, device()));
      Sgd optimizer({w}, options);
      problem.train(optimizer, w, 20);
      expect_close(w, from_vector(plain_sgd(problem, options, 20), {3}), tolerance(dtype), "w");
    }
  }
}

TEST_P(Optimizers, AdamWMatchesItsFormulaFor20Steps) {
  const Problem problem;
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    for (const double decay : {0.0, 0.1}) {
      AdamWOptions options;
      options.learning_rate = 0.05;
      options.weight_decay = decay;
      const Var w(problem.tensor(problem.start, dtype, device()));
      AdamW optimizer({w}, options);
      problem.train(optimizer, w, 20);
      expect_close(w, from_vector(plain_adamw(problem, options, 20), {3}), tolerance(dtype), "w");
    }
  }
}

// By hand. SGD, rate 0.1, momentum 0.5, gradient 2 then 4: velocity 2, 5; w 1 -> 0.8 -> 0.3.
// AdamW without decay moves by the rate on its first step whatever the gradient.
TEST_P(Optimizers, FirstStepsByHand) {
  const Var w(scalar(1, DType::kF64, device())), v(scalar(1, DType::kF64, device()));
  Sgd sgd_optimizer({w}, sgd(0.1, 0.5, 0, false));
  sgd_optimizer.step(backward(w * 2.0));
  EXPECT_NEAR(w.tensor().item(), 0.8, 1e-15);
  sgd_optimizer.step(backward(w * 4.0));
  EXPECT_NEAR(w.tensor().item(), 0.3, 1e-15);

  AdamWOptions options;
  options.learning_rate = 0.1;
  options.weight_decay = 0.5;
  AdamW adamw({v}, options);
  adamw.step(backward(v * 123.0));
  EXPECT_NEAR(v.tensor().item(), 1 * (1 - 0.05) - 0.1, 1e-10);
}

TEST_P(Optimizers, ParametersWithoutGradientStay) {
  const Var used(scalar(1, DType::kF32, device())), idle(scalar(3, DType::kF32, device()));
  Sgd sgd_optimizer({idle, used}, sgd(0.1, 0.9, 0.5, false));
  AdamW adamw({idle, used});
  sgd_optimizer.step(backward(sqr(used)));
  adamw.step(backward(sqr(used)));
  EXPECT_EQ(idle.tensor().item(), 3);
  EXPECT_LT(used.tensor().item(), 1);
  // Its first own gradient is its step 1: bias correction makes the move the whole rate.
  adamw.set_learning_rate(0.5);
  adamw.step(backward(sqr(idle)));
  EXPECT_NEAR(idle.tensor().item(), 3 * (1 - 0.5 * 0.01) - 0.5, 1e-5);
}

TEST_P(Optimizers, TheLearningRateCanChange) {
  const Var w(scalar(1, DType::kF64, device()));
  Sgd optimizer({w}, sgd(0.1, 0, 0, false));
  optimizer.set_learning_rate(0);
  optimizer.step(backward(w * 1.0));
  EXPECT_EQ(w.tensor().item(), 1);
  optimizer.set_learning_rate(0.25);
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
  optimizer.step(backward(w * 1.0));
  EXPECT_EQ(w.tensor().item(), 0.75);
}

// 1e-4 squared is 1e-8: zero in f16, so AdamW would divide by eps if its means were kept in f16.
TEST_P(Optimizers, HalfPrecisionParametersKeepTheirMeansInF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Var w(full({4}, 1, dtype, device()));
    AdamWOptions options;
    options.learning_rate = 0.125;
    options.weight_decay = 0;
    AdamW optimizer({w}, options);
    optimizer.step(backward(sum(w * 1e-4)));
    EXPECT_EQ(w.tensor().dtype(), dtype);
    expect_close(w, full({4}, 0.875, DType::kF64), 1e-3, "w");
  }
}

TEST(OptimizerState, OutlivesTheArenaOfTheStep) {
  const Problem problem;
  const Var w(problem.tensor(problem.start, DType::kF64, Device::cpu()));
  AdamWOptions options;
  options.learning_rate = 0.05;
  AdamW optimizer({w}, options);
  Arena arena;
  for (int i = 0; i < 20; ++i) {
    const ArenaScope scope(arena);
    problem.train(optimizer, w, 1);
  }
  expect_close(w, from_vector(plain_adamw(problem, options, 20), {3}), 1e-13, "w");
}

TEST(OptimizerErrors, NameTheOption) {
  const std::vector<Var> w = {Var(scalar(1))};
  const auto bad = ErrorCode::kInvalidArgument;
  expect_error([&] { Sgd(w, sgd(-1, 0, 0, false)); }, bad,
               "Sgd: learning_rate is -1, expected a finite number of at least 0");
  expect_error([&] { Sgd(w, sgd(0.1, 1, 0, false)); }, bad, "Sgd: momentum is 1, expected a number in [0, 1)");
  expect_error([&] { Sgd(w, sgd(0.1, 0, NAN, false)); }, bad, "Sgd: weight_decay is nan");
  expect_error([&] { Sgd(w, sgd(0.1, 0, 0, true)); }, bad, "Sgd: nesterov needs a momentum above 0");
  AdamWOptions options;
  options.beta2 = 1;
  expect_error([&] { AdamW(w, options); }, bad, "AdamW: beta2 is 1, expected a number in [0, 1)");
  AdamW optimizer(w);
  expect_error([&] { optimizer.set_learning_rate(INFINITY); }, bad, "AdamW: learning_rate is inf");
}

WICK_ON_EVERY_DEVICE(Optimizers);

}  // namespace
}  // namespace wick
