#pragma once

#include <cstdint>
#include <vector>

#include "ops/autograd.h"

namespace wick {

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
