#include "nn/recurrent/mamba.h"

#include "ops/binary.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {

Tensor Mamba::operator()(const Tensor& x, const MixerStep& step) const {
  const Tensor parts = in(x);
  const Tensor convolved = causal_conv(narrow(parts, 1, 0, inner), conv_weight, conv_bias, step.rows(0));
  const Tensor u = step.hook(HookPoint::kMixerIn, activate(activation, convolved)).contiguous();
  const Tensor selected = select(u);
  const auto part = [&](int64_t begin, int64_t size, const Norm& norm) {
    const Tensor values = narrow(selected, 1, begin, size);
    return norm.present() ? norm(values.contiguous()) : values;
  };
  const Tensor steps = step.hook(HookPoint::kDecay, softplus(dt(part(0, rank, dt_norm).contiguous()))).contiguous();
  const Tensor y =
      mamba_scan(u, steps, part(rank, states, b_norm), part(rank + states, states, c_norm), a, d, step.rows(1));
  step.hook_state(1);
  const Tensor gate = step.hook(HookPoint::kGate, activate(activation, narrow(parts, 1, inner, inner)));
  return out(mul(y, gate));
}

}  // namespace wick
