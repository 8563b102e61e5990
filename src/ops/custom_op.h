#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "ops/autograd.h"

namespace wick {

// An op of the user's own, with one to three inputs. Derive a final class from it, write the forward and, if it is to
// be trained through, the backward; then
//   Tensor hard_swish(const Tensor& x) { return apply(HardSwish(), x); }
// is an op like any other. Every tensor these functions get is row-major. Ops called inside record nothing.
class CustomOp {
 public:
  virtual ~CustomOp() = default;

  virtual const char* name() const = 0;  // stands before every error

  // The result, on the device of the inputs (empty_like keeps it). Must not write to the inputs.
  virtual Tensor forward_cpu(std::span<const Tensor> inputs) const = 0;  // also serves the reference device
  virtual Tensor forward_cuda(std::span<const Tensor> inputs) const;     // unless overridden: Error(kUnsupported)

  // Given the gradient by the output, those by each input in its shape (undefined where none flows).
  // Unless overridden, a gradient through the op is Error(kUnsupported).
  virtual Grads backward(std::span<const Tensor> inputs, const Tensor& output, const Tensor& grad) const;
};

// --- How apply works ---

using KeepOp = std::shared_ptr<const CustomOp> (*)(const CustomOp& op);
// `keep` copies the op; it is called only when the result is recorded.
Tensor apply_custom(const CustomOp& op, KeepOp keep, std::vector<Tensor> inputs);

// final, because the graph keeps a copy of the op and a copy of a base class would lose the derived part.
template <typename Op>
concept CustomOpClass = std::derived_from<Op, CustomOp> && std::is_final_v<Op> && std::copy_constructible<Op>;

template <CustomOpClass Op>
std::shared_ptr<const CustomOp> keep_op(const CustomOp& op) {
  return std::make_shared<const Op>(static_cast<const Op&>(op));
}

// --- Calling an op ---

template <CustomOpClass Op>
Tensor apply(const Op& op, const Tensor& a) {
  return apply_custom(op, keep_op<Op>, {a});
}
template <CustomOpClass Op>
Tensor apply(const Op& op, const Tensor& a, const Tensor& b) {
  return apply_custom(op, keep_op<Op>, {a, b});
}
template <CustomOpClass Op>
Tensor apply(const Op& op, const Tensor& a, const Tensor& b, const Tensor& c) {
  return apply_custom(op, keep_op<Op>, {a, b, c});
}

}  // namespace wick
