// An op that the library does not have: a gated squared ReLU, relu(gate)^2 * value, with its derivative.
// Checks the derivative against finite differences and trains one weight through it.
#include <wick/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace {

using wick::Tensor;

class SquaredReluGate final : public wick::CustomOp {
 public:
  const char* name() const override { return "squared_relu_gate"; }

  // One loop instead of three ops, and no tensors in between. Inputs are row-major.
  Tensor forward_cpu(std::span<const Tensor> inputs) const override {
    Tensor out = wick::empty_like(inputs[0]);
    const auto *gate = inputs[0].data<double>(), *value = inputs[1].data<double>();
    auto* result = out.mutable_data<double>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      const double open = std::max(gate[i], 0.0);
      result[i] = open * open * value[i];
    }
    return out;
  }

  // d/dgate = 2 relu(gate) value,  d/dvalue = relu(gate)^2. Built from ops, so it works on every device.
  wick::Grads backward(std::span<const Tensor> inputs, const Tensor&, const Tensor& grad) const override {
    const Tensor open = wick::relu(inputs[0]);
    return {grad * 2.0 * open * inputs[1], grad * wick::sqr(open)};
  }
};

Tensor squared_relu_gate(const Tensor& gate, const Tensor& value) { return apply(SquaredReluGate(), gate, value); }

// The slope of f at x by central differences, one element at a time.
Tensor slope(const std::function<double(const Tensor&)>& f, const Tensor& x) {
  const double h = 1e-5;
  std::vector<double> values = x.to_vector<double>(), slopes;
  for (double& value : values) {
    const double middle = value;
    value = middle + h;
    const double above = f(wick::from_vector(values, x.shape()));
    value = middle - h;
    const double below = f(wick::from_vector(values, x.shape()));
    value = middle;
    slopes.push_back((above - below) / (2 * h));
  }
  return wick::from_vector(slopes, x.shape());
}

double difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

}  // namespace

int main() {
  using wick::DType, wick::randn, wick::Var;
  const Var gate(randn({3, 5}, 1, DType::kF64)), value(randn({3, 5}, 2, DType::kF64));
  const auto loss = [](const Tensor& g, const Tensor& v) { return sum(sin(squared_relu_gate(g, v))); };

  const auto gradients = backward(loss(gate, value));
  const double gate_error = difference(
      gradients.of(gate), slope([&](const Tensor& g) { return loss(g, value).item(); }, gate.tensor().detach()));
  const double value_error = difference(
      gradients.of(value), slope([&](const Tensor& v) { return loss(gate, v).item(); }, value.tensor().detach()));
  std::printf("gradient by gate:  off from finite differences by %.1e\n", gate_error);
  std::printf("gradient by value: off from finite differences by %.1e\n", value_error);

  // Find the weight that the data were made with: target = squared_relu_gate(0.7 x, x).
  const Tensor x = randn({64}, 3, DType::kF64), target = squared_relu_gate(x * 0.7, x);
  const Var weight(wick::scalar(0.2, DType::kF64));
  wick::SgdOptions options;
  options.learning_rate = 0.05;
  wick::Sgd optimizer({weight}, options);
  for (int i = 0; i < 200; ++i) {
    optimizer.step(backward(mean(sqr(squared_relu_gate(x * weight.tensor(), x) - target))));
  }
  const double found = weight.tensor().item();
  std::printf("trained weight:    %.6f, expected 0.7\n", found);

  const bool right = gate_error < 1e-8 && value_error < 1e-8 && std::abs(found - 0.7) < 1e-6;
  std::printf("%s\n", right ? "ok" : "WRONG");
  return right ? 0 : 1;
}
