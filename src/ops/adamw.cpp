#include "ops/adamw.h"

#include <cmath>
#include <limits>

#include "ops/check.h"
#include "ops/operators.h"
#include "ops/optimizer.h"
#include "ops/sqr.h"
#include "ops/sqrt.h"

namespace wick {

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
