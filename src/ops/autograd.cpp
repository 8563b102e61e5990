#include "ops/autograd.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/binary.h"
#include "ops/check.h"
#include "ops/reduction.h"
#include "ops/view.h"

namespace wick {
namespace {

thread_local bool recording = true;

class OpNode final : public GradNode {
 public:
  OpNode() = default;
  OpNode(const char* op, std::vector<Tensor> inputs, BackwardFn fn)
      : op_(op), inputs_(std::move(inputs)), backward_(std::move(fn)) {}

  bool is_leaf() const { return !backward_; }
  const char* op() const { return op_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  Grads run_backward(const Tensor& grad) const { return backward_(grad); }

 protected:
  // Deleting a node releases its inputs' nodes; a queue keeps a chain of a million steps off the stack.
  void destroy() override {
    thread_local std::vector<OpNode*> queue;
    thread_local bool draining = false;
    queue.push_back(this);
    if (draining) return;
    draining = true;
    while (!queue.empty()) {
      OpNode* node = queue.back();
      queue.pop_back();
      delete node;
    }
    draining = false;
  }

 private:
  const char* op_ = "leaf";
  std::vector<Tensor> inputs_;
  BackwardFn backward_;
};

const OpNode* node_of(const Tensor& tensor) { return static_cast<const OpNode*>(tensor.grad_node().get()); }

// Nodes in an order where each comes before the nodes it was computed from.
std::vector<const OpNode*> reverse_order(const OpNode* root) {
  std::vector<const OpNode*> order;
  std::unordered_set<const OpNode*> seen;
  std::vector<std::pair<const OpNode*, size_t>> stack = {{root, 0}};
  seen.insert(root);
  while (!stack.empty()) {
    auto& [node, next_input] = stack.back();
    if (next_input == node->inputs().size()) {
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    const OpNode* input = node_of(node->inputs()[next_input++]);
    if (input && seen.insert(input).second) stack.emplace_back(input, 0);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

Var::Var(const Tensor& initial) {
  check_float("Var", initial);
  tensor_ = initial.detach().clone();
  tensor_.set_grad_node(Ref<GradNode>::adopt(new OpNode()));
}

void Var::set(const Tensor& values) const {
  check_defined("Var::set", values);
  check_same_device("Var::set", {&tensor_, &values});
  if (!(values.shape() == tensor_.shape())) {
    throw Error(ErrorCode::kShape, cat("Var::set: ", values.shape(), " into a variable of shape ", tensor_.shape()));
  }
  // A view of the variable itself (its transpose, say) would change while it is being read.
  const Tensor source = values.storage().get() == tensor_.storage().get() ? values.detach().clone() : values;
  find_kernel("Var::set", tensor_.device(), &KernelTable::copy)(source, tensor_);
}

bool grad_enabled() { return recording; }

NoGrad::NoGrad() : before_(std::exchange(recording, false)) {}
NoGrad::~NoGrad() { recording = before_; }
EnableGrad::EnableGrad() : before_(std::exchange(recording, true)) {}
EnableGrad::~EnableGrad() { recording = before_; }

void record(Tensor& out, const char* op, std::vector<Tensor> inputs, BackwardFn backward_fn) {
  out.set_grad_node(Ref<GradNode>::adopt(new OpNode(op, std::move(inputs), std::move(backward_fn))));
}

Tensor sum_to(const Tensor& grad, const Shape& shape) {
  if (grad.shape() == shape) return grad;
  const int added = grad.rank() - shape.rank();
  std::vector<int64_t> dims;
  for (int d = 0; d < grad.rank(); ++d) {
    if (d < added || (shape[d - added] == 1 && grad.dim(d) != 1)) dims.push_back(d);
  }
  return reshape(sum(grad, dims, true), shape);
}

Gradients backward(const Tensor& loss) {
  check_defined("backward", loss);
  if (loss.numel() != 1) {
    throw Error(ErrorCode::kShape, cat("backward: the loss has shape ", loss.shape(), ", expected one element"));
  }
  return backward(loss, full(loss.shape(), 1, loss.dtype(), loss.device()));
}

Gradients backward(const Tensor& output, const Tensor& seed) {
  check_defined("backward", output);
  if (!output.requires_grad()) {
    throw Error(ErrorCode::kInvalidArgument, "backward: the tensor was not computed from any Var");
  }
  check_defined("backward", seed);
  check_same_device("backward", {&output, &seed});
  if (!(seed.shape() == output.shape())) {
    throw Error(ErrorCode::kShape, cat("backward: seed ", seed.shape(), " for an output of shape ", output.shape()));
  }
  const NoGrad no_grad;
  std::unordered_map<const OpNode*, Tensor> grads;
  grads[node_of(output)] = as_dtype(seed, output.dtype());
  for (const OpNode* node : reverse_order(node_of(output))) {
    const auto found = grads.find(node);
    if (node->is_leaf() || found == grads.end()) continue;
    const Grads flowing = node->run_backward(found->second);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Tensor& input = node->inputs()[i];
      if (!input.requires_grad() || !flowing[i].defined()) continue;
      if (!(flowing[i].shape() == input.shape())) {
        throw Error(ErrorCode::kInternal, cat(node->op(), ": gradient of shape ", flowing[i].shape(),
                                              " for an input of shape ", input.shape()));
      }
      Tensor& sum = grads[node_of(input)];
      const Tensor flow = as_dtype(flowing[i], input.dtype());  // a promoted input gets its own dtype back
      sum = sum.defined() ? add(sum, flow) : flow;
    }
  }
  Gradients result;
  for (auto& [node, grad] : grads) {
    auto* shared = const_cast<OpNode*>(node);
    shared->retain();
    result.by_node_.emplace_back(Ref<GradNode>::adopt(shared), std::move(grad));
  }
  std::sort(result.by_node_.begin(), result.by_node_.end(),
            [](const auto& a, const auto& b) { return a.first.get() < b.first.get(); });
  return result;
}

Tensor Gradients::of(const Tensor& tensor) const {
  const GradNode* node = tensor.grad_node().get();
  const auto found = std::lower_bound(by_node_.begin(), by_node_.end(), node,
                                      [](const auto& entry, const GradNode* key) { return entry.first.get() < key; });
  return node && found != by_node_.end() && found->first.get() == node ? found->second : Tensor();
}

}  // namespace wick
