#include "nn/mlp.h"

#include <array>

#include "ops/fused_kernels.h"
#include "tensor/create.h"

namespace wick {

Tensor Mlp::operator()(const Tensor& x, const BatchHooks& hooks, int layer) const {
  const Tensor pre = hooks(HookPoint::kMlpPre, layer, gate.defined() ? gate(x) : up(x));
  const Tensor post = gate.defined() ? activate_gated(activation, pre, up(x)) : activate(activation, pre);
  return down(hooks(HookPoint::kMlpPost, layer, post));
}

Tensor Mlp::fused(const Tensor& x, const Tensor& residual) const {
  std::array<Tensor, 2> parts;
  Tensor post;
  if (!gate.defined()) {
    apply_linears(x, {&up}, {}, std::span(parts).first(1));
    post = activate(activation, parts[0]);
  } else {
    apply_linears(x, {&gate, &up}, {}, parts);
    const FusedKernels* kernels = fused_kernels(x.device());
    if (kernels && activation == Activation::kSilu && parts[0].dtype() == DType::kF32) {
      post = empty(parts[0].shape(), DType::kF32, x.device());
      kernels->silu_mul(parts[0].contiguous(), parts[1].contiguous(), post);
    } else {
      post = activate_gated(activation, parts[0], parts[1]);
    }
  }
  std::array<Tensor, 1> out;
  apply_linears(post, {&down}, residual, out);
  return out[0];
}

}  // namespace wick
