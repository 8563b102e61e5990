#include <cmath>

#include "graph/operators/broadcast.h"
#include "graph/operators/float_maps.h"
#include "ops/binary.h"
#include "ops/compare.h"
#include "ops/layers/norm.h"
#include "ops/reduction.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

const Tensor& floats(OpRun& run, int input = 0) {
  const Tensor& x = run.tensor(input);
  if (!is_float(run.type(input))) {
    throw Error(ErrorCode::kDType, cat("input ", input + 1, " is ", describe(run.in(input)), ", expected floats"));
  }
  return x;
}

void relu_op(OpRun& run) {
  if (is_float(run.type(0))) return run.set(0, relu(floats(run)), run.type(0));
  run.tensor(0);
  run.set(0, map_longs(run.in(0), [](int64_t x) { return x < 0 ? int64_t{0} : x; }));
}
void sigmoid_op(OpRun& run) { run.set(0, sigmoid(floats(run))); }
void softplus_op(OpRun& run) { run.set(0, softplus(floats(run))); }
void softsign_op(OpRun& run) {
  const Tensor& x = floats(run);
  run.set(0, div(x, add(abs(x), 1)));
}
void gelu_op(OpRun& run) {
  const std::string form = run.get("approximate", "none");
  if (form != "none" && form != "tanh") throw bad_input(cat("approximate is '", form, "'"));
  run.set(0, form == "tanh" ? gelu_tanh(floats(run)) : gelu(floats(run)));
}
void leaky_relu_op(OpRun& run) {
  const double alpha = run.get("alpha", 0.01f);
  if (floats(run).dtype() == DType::kF32) return run.set(0, leaky_relu_map(run.tensor(0), static_cast<float>(alpha)));
  run.set(0, map_float(run.in(0), [&](double v) { return v < 0 ? v * alpha : v; }));
}
void prelu_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  Tensor slope = run.tensor(1);
  check_same_type(run.in(0), run.in(1));
  // Before opset 7 the slope is one per channel.
  if (slope.rank() == 1 && x.rank() > 2 && slope.dim(0) == x.dim(1) && x.dim(1) != x.dim(-1)) {
    while (slope.rank() < x.rank() - 1) slope = unsqueeze(slope, -1);
  }
  if (broadcast(x.shape(), slope.shape()) != x.shape())
    throw Error(ErrorCode::kShape, cat("slope ", slope.shape(), " for ", x.shape()));
  if (!is_float(run.type(0))) {
    return run.set(
        0, map_longs(run.in(0), Value(slope, run.type(1)), [](int64_t v, int64_t s) { return v < 0 ? v * s : v; }));
  }
  run.set(0, where(lt(x, 0), mul(x, slope), x), run.type(0));
}
void elu_op(OpRun& run) {
  const double alpha = run.get("alpha", 1.0f);
  run.set(0, map_float(run.in(0), [&](double x) { return x < 0 ? alpha * std::expm1(x) : x; }));
}
void celu_op(OpRun& run) {
  const double alpha = run.get("alpha", 1.0f);
  run.set(0, map_float(run.in(0), [&](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; }));
}
void selu_op(OpRun& run) {
  const bool old = run.opset() < 6;
  const double alpha = run.get("alpha", old ? 1.6732f : 1.67326319217681884765625f),
               gamma = run.get("gamma", old ? 1.0507f : 1.05070102214813232421875f);
  run.set(0, map_float(run.in(0), [&](double x) { return gamma * (x <= 0 ? alpha * std::expm1(x) : x); }));
}
void thresholded_relu_op(OpRun& run) {
  const double alpha = run.get("alpha", 1.0f);
  run.set(0, map_float(run.in(0), [&](double x) { return x > alpha ? x : 0; }));
}
void hard_sigmoid_op(OpRun& run) {
  const double alpha = run.get("alpha", 0.2f), beta = run.get("beta", 0.5f);
  const Tensor& x = floats(run);
  if (x.dtype() == DType::kF32)
    return run.set(0, hard_sigmoid_map(x, static_cast<float>(alpha), static_cast<float>(beta)));
  run.set(0, clamp(add(mul(x, alpha), beta), 0, 1));
}
void hard_swish_op(OpRun& run) {
  const Tensor& x = floats(run);
  run.set(0, x.dtype() == DType::kF32 ? hard_swish_map(x) : mul(x, clamp(add(mul(x, 1.0 / 6), 0.5), 0, 1)));
}
void mish_op(OpRun& run) {
  const Tensor& x = floats(run);
  run.set(0, mul(x, tanh(softplus(x))));
}
void swish_op(OpRun& run) {
  const double alpha = run.get("alpha", 1.0f);
  const Tensor& x = floats(run);
  run.set(0, alpha == 1 ? silu(x) : mul(x, sigmoid(mul(x, alpha))));
}
void shrink_op(OpRun& run) {
  const double bias = run.get("bias", 0.0f), limit = run.get("lambd", 0.5f);
  const auto shrink = [&](double x) { return x < -limit ? x + bias : x > limit ? x - bias : 0; };
  if (is_float(run.type(0))) return run.set(0, map_float(run.in(0), shrink));
  const Doubles x(run.tensor(0));
  Doubles out(x.shape());
  for (int64_t i = 0; i < x.size(); ++i) out.out()[i] = shrink(x[i]);
  run.set(0, store(out.tensor().to_dtype(DType::kI64), run.type(0)));
}

// Before opset 13 the dimensions from the axis on are one.
template <Tensor (*kFunction)(const Tensor&, int64_t)>
void softmax_op(OpRun& run) {
  const Tensor& x = floats(run);
  const bool flat = run.opset() < 13;
  const int64_t given = run.get("axis", flat ? int64_t{1} : int64_t{-1});
  if (x.rank() == 0) return run.set(0, kFunction(reshape(x, {1}), 0).with_layout(Layout()));
  if (!flat) return run.set(0, kFunction(x, axis_of(given, x.rank())));
  const int axis = given == x.rank() ? x.rank() : axis_of(given, x.rank());
  const int64_t rows = axis == 0 ? 1 : outer_size(x.shape(), axis), columns = rows ? x.numel() / rows : 0;
  if (x.numel() == 0) return run.set(0, run.in(0));
  run.set(0, reshape(kFunction(reshape(x, {rows, columns}), 1), x.shape()));
}
void hardmax_op(OpRun& run) {
  const Tensor& x = floats(run);
  const bool flat = run.opset() < 13;
  const int axis = axis_of(run.get("axis", flat ? int64_t{1} : int64_t{-1}), x.rank());
  const int64_t rows = outer_size(x.shape(), axis);
  const Tensor view = flat ? reshape(x, {rows, rows ? x.numel() / rows : 0}) : x;
  const int dim = flat ? 1 : axis;
  const Tensor best = argmax(view, dim, true), places = arange(0, static_cast<double>(view.dim(dim)), 1, DType::kI64);
  Tensor column = places;
  for (int d = dim + 1; d < view.rank(); ++d) column = unsqueeze(column, -1);
  run.set(0, reshape(eq(best, column).to_dtype(x.dtype()), x.shape()));
}

constexpr Operator kOperators[] = {
    {"Celu", celu_op, "alpha"},
    {"Elu", elu_op, "alpha consumed_inputs"},
    {"Gelu", gelu_op, "approximate"},
    {"HardSigmoid", hard_sigmoid_op, "alpha beta consumed_inputs"},
    {"HardSwish", hard_swish_op},
    {"Hardmax", hardmax_op, "axis"},
    {"LeakyRelu", leaky_relu_op, "alpha consumed_inputs"},
    {"LogSoftmax", softmax_op<log_softmax>, "axis"},
    {"Mish", mish_op},
    {"PRelu", prelu_op, "consumed_inputs"},
    {"Relu", relu_op, "consumed_inputs"},
    {"Selu", selu_op, "alpha gamma consumed_inputs"},
    {"Shrink", shrink_op, "bias lambd"},
    {"Sigmoid", sigmoid_op, "consumed_inputs"},
    {"Softmax", softmax_op<softmax>, "axis"},
    {"Softplus", softplus_op},
    {"Softsign", softsign_op},
    {"Swish", swish_op, "alpha"},
    {"ThresholdedRelu", thresholded_relu_op, "alpha"},
};

}  // namespace

Operators activation_operators() { return kOperators; }

}  // namespace wick::graph
