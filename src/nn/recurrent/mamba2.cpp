#include "nn/recurrent/mamba2.h"

#include "ops/binary.h"
#include "ops/layers/norm.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {

Tensor Mamba2::operator()(const Tensor& x, const MixerStep& step) const {
  Tensor parts = in(input_scale == 1 ? x : mul(x, input_scale));
  if (part_scales.defined()) parts = mul(parts, part_scales);
  const Tensor convolved = activate(
      activation, causal_conv(narrow(parts, 1, inner(), conv_channels()), conv_weight, conv_bias, step.rows(0)));
  Tensor entering = narrow(convolved, 1, 0, inner());
  if (step.hooks.active()) entering = step.hook(HookPoint::kMixerIn, entering.contiguous()).contiguous();
  const Tensor dt = softplus(add(narrow(parts, 1, inner() + conv_channels(), heads), dt_bias));
  const Tensor steps = step.hook(HookPoint::kDecay, clamp(dt, least_dt, most_dt)).contiguous();
  const int64_t shared = groups * states;
  const Tensor y = mamba2_scan(entering, steps, narrow(convolved, 1, inner(), shared),
                               narrow(convolved, 1, inner() + shared, shared), a, d, step.rows(1));
  step.hook_state(1);
  const Tensor gate = step.hook(HookPoint::kGate, activate(activation, narrow(parts, 1, 0, inner())));
  const Tensor made = out(gated(y, gate));
  return output_scale == 1 ? made : mul(made, output_scale);
}

Tensor Mamba2::gated(const Tensor& y, const Tensor& gate) const {
  if (!norm_weight.defined()) return mul(y, gate);
  const Tensor x = norms_before_gate ? y : mul(y, gate);
  Tensor normed;
  if (norm_groups == 1) {
    normed = rms_norm(x, norm_weight, norm_eps);
  } else {
    const Tensor by_group = rms_norm(reshape(x, {x.dim(0), norm_groups, inner() / norm_groups}), {}, norm_eps);
    normed = mul(reshape(by_group, {x.dim(0), inner()}), norm_weight);
  }
  return norms_before_gate ? mul(normed, gate) : normed;
}

}  // namespace wick
