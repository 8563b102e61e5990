#pragma once

#include <cstdint>
#include <vector>

#include "ops/autograd.h"
#include "tensor/tensor.h"

namespace wick {

// Parts the optimisers share.

// Throws Error(kInvalidArgument) "Sgd: momentum is 2, expected a number in [low, high)".
void check_option(const char* optimizer, const char* option, double value, double low, double high);

// f32 for half precision parameters, whose own dtype would lose small updates; else the parameter's dtype.
DType state_dtype(const Tensor& parameter);
// Zeros beside a parameter that live until the optimiser does, also when made inside an ArenaScope.
Tensor optimizer_state(const Tensor& parameter);
void overwrite(const Tensor& state, const Tensor& values);

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

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;    // memory of the mean gradient
  double beta2 = 0.999;  // memory of the mean squared gradient
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: w *= 1 - rate * decay
};

// AdamW (Loshchilov & Hutter 2019) with PyTorch's formulas. Means of f16 and bf16 parameters are kept in f32.
// Not thread-safe.
class AdamW {
 public:
  // Throws Error(kInvalidArgument) naming an option out of range.
  explicit AdamW(std::vector<Var> parameters, const AdamWOptions& options = {});

  // Parameters that have no gradient are left alone: no decay, and their step does not count.
  void step(const Gradients& gradients);

  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double rate);

 private:
  struct State {
    Tensor mean, square;  // running means of the gradient and of its square; undefined until the first gradient
    int64_t steps = 0;
  };

  std::vector<Var> parameters_;
  std::vector<State> states_;
  AdamWOptions options_;
};

}  // namespace wick
