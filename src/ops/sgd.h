#pragma once

#include <vector>

#include "ops/autograd.h"

namespace wick {

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;
  double weight_decay = 0;  // added to the gradient: decay * parameter
  bool nesterov = false;    // look ahead along the momentum
};

// Stochastic gradient descent with PyTorch's formulas:
//   g += decay * w;  velocity = momentum * velocity + g;  w -= rate * velocity (nesterov: g + momentum * velocity)
// Velocities of f16 and bf16 parameters are kept in f32. Not thread-safe.
class Sgd {
 public:
  // Throws Error(kInvalidArgument) naming an option out of range.
  explicit Sgd(std::vector<Var> parameters, const SgdOptions& options = {});

  // Parameters that have no gradient are left alone.
  void step(const Gradients& gradients);

  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double rate);

 private:
  std::vector<Var> parameters_;
  std::vector<Tensor> velocities_;  // undefined until the parameter's first gradient
  SgdOptions options_;
};

}  // namespace wick
