#include "ops/optimizer.h"

#include <cmath>
#include <limits>

#include "ops/binary.h"
#include "ops/check.h"
#include "ops/unary.h"
#include "tensor/arena.h"

namespace wick {

void check_option(const char* optimizer, const char* option, double value, double low, double high) {
  if (value >= low && value < high) return;
  const bool bounded = high < std::numeric_limits<double>::infinity();
  throw Error(ErrorCode::kInvalidArgument,
              bounded ? cat(optimizer, ": ", option, " is ", value, ", expected a number in [", low, ", ", high, ")")
                      : cat(optimizer, ": ", option, " is ", value, ", expected a finite number of at least ", low));
}

DType state_dtype(const Tensor& parameter) { return parameter.dtype() == DType::kF64 ? DType::kF64 : DType::kF32; }

Tensor optimizer_state(const Tensor& parameter) {
  const ArenaPause heap;
  return zeros(parameter.shape(), state_dtype(parameter), parameter.device());
}

void overwrite(const Tensor& state, const Tensor& values) {
  find_kernel("optimizer step", state.device(), &KernelTable::copy)(values, state);
}

Sgd::Sgd(std::vector<Var> parameters, const SgdOptions& options)
    : parameters_(std::move(parameters)), velocities_(parameters_.size()), options_(options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  set_learning_rate(options.learning_rate);
  check_option("Sgd", "momentum", options.momentum, 0, 1);
  check_option("Sgd", "weight_decay", options.weight_decay, 0, kInfinity);
  if (options.nesterov && options.momentum == 0) {
    throw Error(ErrorCode::kInvalidArgument, "Sgd: nesterov needs a momentum above 0");
  }
}

void Sgd::set_learning_rate(double rate) {
  check_option("Sgd", "learning_rate", rate, 0, std::numeric_limits<double>::infinity());
  options_.learning_rate = rate;
}

void Sgd::step(const Gradients& gradients) {
  const NoGrad no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor();
    Tensor gradient = gradients.of(parameter);
    if (!gradient.defined()) continue;
    const DType dtype = state_dtype(parameter);
    const Tensor value = as_dtype(parameter, dtype);
    gradient = as_dtype(gradient, dtype);
    if (options_.weight_decay != 0) gradient = gradient + value * options_.weight_decay;
    if (options_.momentum != 0) {
      if (!velocities_[i].defined()) velocities_[i] = optimizer_state(parameter);
      overwrite(velocities_[i], velocities_[i] * options_.momentum + gradient);
      gradient = options_.nesterov ? gradient + velocities_[i] * options_.momentum : velocities_[i];
    }
    parameters_[i].set(value - gradient * options_.learning_rate);
  }
}

AdamW::AdamW(std::vector<Var> parameters, const AdamWOptions& options)
    : parameters_(std::move(parameters)), states_(parameters_.size()), options_(options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  set_learning_rate(options.learning_rate);
  check_option("AdamW", "beta1", options.beta1, 0, 1);
  check_option("AdamW", "beta2", options.beta2, 0, 1);
  check_option("AdamW", "eps", options.eps, 0, kInfinity);
  check_option("AdamW", "weight_decay", options.weight_decay, 0, kInfinity);
}

void AdamW::set_learning_rate(double rate) {
  check_option("AdamW", "learning_rate", rate, 0, std::numeric_limits<double>::infinity());
  options_.learning_rate = rate;
}

void AdamW::step(const Gradients& gradients) {
  const NoGrad no_grad;
  const auto [rate, beta1, beta2, eps, decay] = options_;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor();
    Tensor gradient = gradients.of(parameter);
    if (!gradient.defined()) continue;
    gradient = as_dtype(gradient, state_dtype(parameter));
    State& state = states_[i];
    if (state.steps++ == 0) {
      state.mean = optimizer_state(parameter);
      state.square = optimizer_state(parameter);
    }
    overwrite(state.mean, state.mean * beta1 + gradient * (1 - beta1));
    overwrite(state.square, state.square * beta2 + sqr(gradient) * (1 - beta2));
    // Both means start at 0; dividing by 1 - beta^steps takes that start out.
    const auto steps = static_cast<double>(state.steps);
    const double unbias1 = 1 - std::pow(beta1, steps), unbias2 = 1 - std::pow(beta2, steps);
    const Tensor scale = sqrt(state.square) / std::sqrt(unbias2) + eps;
    const Tensor decayed = as_dtype(parameter, state_dtype(parameter)) * (1 - rate * decay);
    parameters_[i].set(decayed - state.mean / scale * (rate / unbias1));
  }
}

}  // namespace wick
