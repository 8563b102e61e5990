#include "support/finite_difference.h"

#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/reduction.h"
#include "support/compare.h"
#include "tensor/create.h"

namespace wick {

void expect_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& run, const std::vector<Tensor>& inputs,
                      const std::string& what, double tolerance) {
  constexpr double kStep = 1e-5;
  std::vector<Tensor> vars;
  for (const Tensor& input : inputs) vars.push_back(Var(input).tensor());
  const Tensor out = run(vars);
  const Tensor seed = randn(out.shape(), 99, out.dtype(), out.device());
  const Gradients grads = backward(out, seed);
  const auto loss = [&](size_t which, int64_t at, double step) {
    std::vector<Tensor> moved = inputs;
    auto values = inputs[which].to_vector<double>();
    values[at] += step;
    moved[which] = from_vector(values, inputs[which].shape(), inputs[which].device());
    return sum(mul(run(moved), seed)).item();
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<double> slopes(inputs[i].numel());
    for (int64_t at = 0; at < inputs[i].numel(); ++at) {
      slopes[at] = (loss(i, at, kStep) - loss(i, at, -kStep)) / (2 * kStep);
    }
    expect_close(grads.of(vars[i]), from_vector(slopes, inputs[i].shape()), tolerance,
                 what + ": gradient by input " + std::to_string(i));
  }
}

}  // namespace wick
