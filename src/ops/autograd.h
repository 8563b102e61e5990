#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Reverse-mode differentiation. A Var is a leaf that wants a gradient; every op that takes a tensor derived from one
// records how to go back, and backward(loss) walks the record. Tensors that lead to no Var record nothing.
// Gradients are first order: what backward() computes is not recorded itself.

// A trainable tensor. Copies share it.
class Var {
 public:
  explicit Var(const Tensor& initial);  // keeps its own copy of the values; floats only

  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }  // NOLINT(google-explicit-constructor): used like a tensor

  // Overwrites the values in place (an optimiser's step). The shape must match.
  void set(const Tensor& values) const;

 private:
  Tensor tensor_;
};

class Gradients {
 public:
  // The gradient by a Var or by any recorded tensor on the way; undefined when the loss does not depend on it.
  Tensor of(const Tensor& tensor) const;

 private:
  friend Gradients backward(const Tensor& output, const Tensor& seed);
  std::vector<std::pair<Ref<GradNode>, Tensor>> by_node_;  // sorted by node address
};

// Gradients of a one-element tensor by everything it was computed from.
Gradients backward(const Tensor& loss);
// Gradients of sum(output * seed).
Gradients backward(const Tensor& output, const Tensor& seed);

// --- For ops ---

using Grads = std::vector<Tensor>;  // one per input; undefined where none flows
using BackwardFn = std::function<Grads(const Tensor& grad)>;

bool grad_enabled();  // false inside backward() and NoGrad

inline bool tracks(const Tensor& x) { return x.requires_grad() && grad_enabled(); }
template <typename... Tensors>
bool tracks(const Tensor& first, const Tensors&... rest) {
  return tracks(first) || tracks(rest...);
}

// Makes `out` part of the graph. Call only when tracks(inputs...). The function may capture inputs as they are, and
// out.detach(), never out itself.
void record(Tensor& out, const char* op, std::vector<Tensor> inputs, BackwardFn backward_fn);

// Sums a gradient down to the shape of an input that was broadcast.
Tensor sum_to(const Tensor& grad, const Shape& shape);

// While it lives, ops on this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// While it lives, ops on this thread record again, even inside a NoGrad: for code that needs gradients of its own.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

}  // namespace wick
