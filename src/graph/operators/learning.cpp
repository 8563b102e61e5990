#include <cmath>

#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/binary.h"
#include "ops/reduction.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

// x [batch, classes, ...] of logarithms, targets [batch, ...].
void likelihood_loss(OpRun& run, const Tensor& logs, int weight_input) {
  const Doubles x(logs);
  const Longs targets(run.tensor(1));
  if (x.shape().rank() < 2 || targets.shape() != x.shape().without(1))
    throw Error(ErrorCode::kShape, cat("targets ", targets.shape(), " for ", x.shape()));
  const int64_t classes = x.shape()[1], inner = inner_size(x.shape(), 1);
  std::vector<double> weights(static_cast<size_t>(classes), 1);
  if (run.has(weight_input)) weights = run.tensor(weight_input).to_vector<double>();
  if (std::ssize(weights) != classes)
    throw Error(ErrorCode::kShape, cat(weights.size(), " weights for ", classes, " classes"));
  const bool ignores = run.has("ignore_index");
  const int64_t ignored = run.get("ignore_index", int64_t{0});
  const std::string reduction = run.get("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    throw bad_input(cat("reduction is '", reduction, "'"));
  Doubles losses(targets.shape());
  double total = 0, weight_total = 0;
  for (int64_t i = 0; i < targets.size(); ++i) {
    losses.out()[i] = 0;
    if (ignores && targets[i] == ignored) continue;
    if (targets[i] < 0 || targets[i] >= classes) throw bad_input(cat("class ", targets[i], " of ", classes));
    const double weight = weights[targets[i]],
                 loss = -weight * x[(i / inner * classes + targets[i]) * inner + i % inner];
    losses.out()[i] = loss;
    total += loss, weight_total += weight;
  }
  if (reduction == "none") return run.set(0, store(losses.tensor(), run.type(0)));
  run.set(0, store(full(Shape{}, reduction == "sum" ? total : total / weight_total, DType::kF64), run.type(0)));
}

void likelihood_op(OpRun& run) { likelihood_loss(run, run.tensor(0), 2); }
void cross_entropy_op(OpRun& run) {
  const Tensor logs = log_softmax(run.tensor(0), axis_of(1, run.tensor(0).rank()));
  likelihood_loss(run, logs, 2);
  run.set(1, store(logs, run.type(0)));
}

constexpr Operator kOperators[] = {
    {"NegativeLogLikelihoodLoss", likelihood_op, "ignore_index reduction"},
    {"SoftmaxCrossEntropyLoss", cross_entropy_op, "ignore_index reduction"},
};

// --- ai.onnx.preview.training: steps of optimisers. Inputs are the rate, the count of steps, then all tensors, all
// gradients and all states. ---

// How many tensors there are: inputs come in `kinds` groups of them.
int group_size(OpRun& run, int kinds) {
  if (run.input_count() < 2 || (run.input_count() - 2) % kinds != 0)
    throw Error(ErrorCode::kBadFile, cat(run.input_count(), " inputs"));
  return (run.input_count() - 2) / kinds;
}

void adagrad_op(OpRun& run) {
  const int n = group_size(run, 3);
  const double count = run.number_at(1), rate = run.number_at(0) / (1 + count * run.get("decay_factor", 0.0f));
  for (int i = 0; i < n; ++i) {
    const Tensor &x = run.tensor(2 + i),
                 gradient = add(mul(x, static_cast<double>(run.get("norm_coefficient", 0.0f))), run.tensor(2 + n + i));
    const Tensor squares = add(run.tensor(2 + 2 * n + i), sqr(gradient));
    run.set(i, sub(x, div(mul(gradient, rate), add(sqrt(squares), run.get("epsilon", 0.0f)))));
    run.set(n + i, squares);
  }
}

void adam_op(OpRun& run) {
  const int n = group_size(run, 4);
  const double alpha = run.get("alpha", 0.9f), beta = run.get("beta", 0.999f), count = run.number_at(1);
  const double rate = count > 0 ? run.number_at(0) * std::sqrt(1 - std::pow(beta, count)) / (1 - std::pow(alpha, count))
                                : run.number_at(0);
  for (int i = 0; i < n; ++i) {
    const Tensor &x = run.tensor(2 + i),
                 gradient = add(mul(x, static_cast<double>(run.get("norm_coefficient", 0.0f))), run.tensor(2 + n + i));
    const Tensor mean = add(mul(run.tensor(2 + 2 * n + i), alpha), mul(gradient, 1 - alpha)),
                 squares = add(mul(run.tensor(2 + 3 * n + i), beta), mul(sqr(gradient), 1 - beta));
    const Tensor next = sub(x, div(mul(mean, rate), add(sqrt(squares), run.get("epsilon", 1e-6f))));
    run.set(i, mul(next, 1 - static_cast<double>(run.get("norm_coefficient_post", 0.0f))));
    run.set(n + i, mean);
    run.set(2 * n + i, squares);
  }
}

void momentum_op(OpRun& run) {
  const int n = group_size(run, 3);
  const double alpha = run.get("alpha", 0.0f), beta = run.number_at(1) > 0 ? run.get("beta", 0.0f) : 1,
               rate = run.number_at(0);
  const bool nesterov = run.get("mode", "standard") == "nesterov";
  for (int i = 0; i < n; ++i) {
    const Tensor &x = run.tensor(2 + i),
                 gradient = add(mul(x, static_cast<double>(run.get("norm_coefficient", 0.0f))), run.tensor(2 + n + i));
    const Tensor speed = add(mul(run.tensor(2 + 2 * n + i), alpha), mul(gradient, beta));
    run.set(i, sub(x, mul(nesterov ? add(gradient, mul(speed, alpha)) : speed, rate)));
    run.set(n + i, speed);
  }
}

constexpr Operator kPreview[] = {
    {"Adagrad", adagrad_op, "decay_factor epsilon norm_coefficient"},
    {"Adam", adam_op, "alpha beta epsilon norm_coefficient norm_coefficient_post"},
    {"Momentum", momentum_op, "alpha beta mode norm_coefficient"},
};

}  // namespace

Operators learning_operators() { return kOperators; }
Operators learning_preview_operators() { return kPreview; }

}  // namespace wick::graph
