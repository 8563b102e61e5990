#include "ops/custom_op.h"

#include <algorithm>

#include "ops/check.h"

namespace wick {
namespace {

std::vector<Tensor> row_major(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) result.push_back(input.detach().contiguous());
  return result;
}

Tensor run_forward(const CustomOp& op, const std::vector<Tensor>& inputs) {
  const Device device = inputs[0].device();
  const Tensor out =
      device.kind() == DeviceKind::kCuda ? op.forward_cuda(row_major(inputs)) : op.forward_cpu(row_major(inputs));
  if (!out.defined()) throw Error(ErrorCode::kInternal, cat(op.name(), ": the forward gave an empty tensor"));
  if (out.device() != device) {
    throw Error(ErrorCode::kInternal,
                cat(op.name(), ": the forward gave a tensor on ", out.device(), " for inputs on ", device));
  }
  return out.detach();
}

Grads run_backward(const CustomOp& op, const std::vector<Tensor>& inputs, const Tensor& output, const Tensor& grad) {
  Grads grads = op.backward(row_major(inputs), output, grad.contiguous());
  if (grads.size() != inputs.size()) {
    throw Error(ErrorCode::kInternal,
                cat(op.name(), ": the backward gave ", grads.size(), " gradients for ", inputs.size(), " inputs"));
  }
  for (const Tensor& each : grads) check_same_device(op.name(), {&grad, &each});
  return grads;
}

}  // namespace

Tensor CustomOp::forward_cuda(std::span<const Tensor> inputs) const { throw unsupported(name(), inputs[0].device()); }

Grads CustomOp::backward(std::span<const Tensor>, const Tensor&, const Tensor&) const {
  throw Error(ErrorCode::kUnsupported,
              cat(name(), ": has no backward, so no gradient can flow through it; override CustomOp::backward"));
}

Tensor apply_custom(const CustomOp& op, KeepOp keep, std::vector<Tensor> inputs) {
  for (const Tensor& input : inputs) {
    check_defined(op.name(), input);
    check_same_device(op.name(), {&inputs[0], &input});
  }
  Tensor out;
  {
    const NoGrad no_grad;
    out = run_forward(op, inputs);
  }
  if (!std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return tracks(x); })) return out;
  if (!is_float(out.dtype())) return out;
  const auto kept = keep(op);  // the node's name lives as long as the op its function holds
  record(out, kept->name(), inputs, [kept, inputs, output = out.contiguous()](const Tensor& grad) {
    return run_backward(*kept, inputs, output, grad);
  });
  return out;
}

}  // namespace wick
