#include "ops/sgd.h"

#include <limits>

#include "ops/check.h"
#include "ops/operators.h"
#include "ops/optimizer.h"

namespace wick {

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

}  // namespace wick
